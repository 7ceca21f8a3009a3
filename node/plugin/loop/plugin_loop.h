// The plugin as a step function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/dra/loop/claim_queue.h"
#include "node/dra/loop/driver_loop.h"
#include "node/dra/loop/slice_publisher.h"
#include "node/kubelet/claims.h"
#include "node/plugin/host/host_reader.h"
#include "node/plugin/loop/claim_work.h"
#include "node/plugin/loop/clique_label.h"
#include "node/plugin/loop/device_health.h"
#include "node/plugin/loop/domain_readiness.h"
#include "node/plugin/loop/garbage_collector.h"
#include "node/plugin/loop/host_watcher.h"
#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/task_queue.h"

namespace plugin {

// What a loop needs. All of it outlives the loop.
struct LoopParts {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  base::TaskQueue& tasks;
  Metrics& metrics;
  dra::ClaimDisk& claim_disk;
  NodeDisk& disk;
  HostReader& host;
  base::Executor& executor;    // Reads the host.
  StartExecutor start_poller;  // Polls IMEX of the host.
  std::string boot_id = {};
  Rules rules = {};
  Instances instances = {};
};

class PluginLoop final : public dra::DriverLoop {
 public:
  explicit PluginLoop(LoopParts parts);

  // The API server is not needed: prepared claims are answered and unprepared without it.
  base::Result<bool> Start() override;
  // Sets the API server, and replaces the earlier one. Null before it is destroyed.
  void Connect(PluginApi* api) { state_.api = api; }

  void Add(Metrics::Operation operation, const std::vector<kubelet::ClaimName>& claims,
           std::stop_token cancelled, kubelet::Done done) override {
    claim_queue_.Add(operation, claims, std::move(cancelled), std::move(done));
  }
  void NoteChange() override { has_news_ = true; }
  TimePoint Turn() override;
  void AnswerAll(const std::string& error) override { claim_queue_.AnswerAll(error); }
  std::vector<kubelet::DeviceHealth> Health() const override { return HealthOf(host_); }
  // Removes the node's clique label, if this plugin sets it.
  bool CleanUp(std::function<void()> done) override;

 private:
  // Returns the slice to publish. Empty until node and host are known.
  std::optional<dra::ResourceSlice> WantedSlice() const;
  TimePoint Publish();
  void LogTakenBack(const kubelet::ClaimName& claim, const kubelet::Answers& answers);

  HostView host_;
  PluginState state_;
  DomainReadiness readiness_;
  ClaimWorks claim_works_;
  dra::ClaimQueue claim_queue_;
  GarbageCollector garbage_collector_;
  dra::SlicePublisher slice_publisher_;
  CliqueLabel clique_label_;
  HostWatcher host_watcher_;
  bool has_news_ = false;
};

}  // namespace plugin

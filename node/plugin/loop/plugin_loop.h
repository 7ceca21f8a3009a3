// The plugin as a step function: time, the kubelet's calls, replies, disk and host go in; writes
// and answers come out.
//
// It has no threads and no sockets. The caller runs the tasks that are posted to `tasks`, and calls
// Turn() when something may have changed and at the time that it returned. Used by one thread, the
// deciding one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/dra/loop/claim_queue.h"
#include "node/dra/loop/slice_publisher.h"
#include "node/kubelet/claims.h"
#include "node/plugin/host/host_reader.h"
#include "node/plugin/loop/claim_work.h"
#include "node/plugin/loop/clique_label.h"
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

class PluginLoop {
 public:
  explicit PluginLoop(LoopParts parts);

  // Reads the checkpoint. Returns false if another instance holds its lock: retry soon. After that
  // the kubelet may call. The API server is not needed: prepared claims are answered and unprepared
  // without it.
  base::Result<bool> Start();
  // Sets the API server, and replaces the earlier one. Null before it is destroyed.
  void Connect(PluginApi* api) { state_.api = api; }

  void Add(Metrics::Operation operation, const std::vector<kubelet::ClaimName>& claims,
           std::stop_token cancelled, kubelet::Done done) {
    claim_queue_.Add(operation, claims, std::move(cancelled), std::move(done));
  }
  // A watch has news.
  void NoteChange() { has_news_ = true; }
  // Does what can be done now. Returns when to call it again if nothing changes.
  TimePoint Turn();

  // Answers every open call with this error.
  void AnswerAll(const std::string& error) { claim_queue_.AnswerAll(error); }
  // Removes the node's clique label, if this plugin sets it. Returns false if it does not, or
  // cannot now. Calls `done` later.
  bool RemoveCliqueLabel(std::function<void()> done);

  const HostView& host() const { return host_; }

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

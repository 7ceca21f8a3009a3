// The GPU driver as a step function.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/dra/loop/claim_queue.h"
#include "node/dra/loop/driver_loop.h"
#include "node/dra/loop/slice_publisher.h"
#include "node/gpu/host/gpu_reader.h"
#include "node/gpu/loop/claim_work.h"
#include "node/gpu/loop/garbage_collector.h"
#include "node/gpu/loop/gpu_state.h"
#include "node/gpu/loop/host_watcher.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/task_queue.h"

namespace gpu {

// What a loop needs. All of it outlives the loop.
struct LoopParts {
  std::string node = {};
  std::string ns = {};  // Of the driver's account.
  const base::Clock& clock;
  base::Logger& logger;
  base::TaskQueue& tasks;
  dra::Metrics& metrics;
  dra::ClaimDisk& claim_disk;
  GpuReader& host;
  base::Executor& executor;  // Reads the host.
  std::string boot_id = {};
  Additions additions = {};  // What to publish besides what NVIDIA's driver does.
  Rules rules = {};
  dra::Instances instances = {};
};

class GpuLoop final : public dra::DriverLoop {
 public:
  explicit GpuLoop(LoopParts parts);

  // Neither the API server nor NVIDIA's driver is needed: prepared claims are answered and
  // unprepared without them.
  base::Result<bool> Start() override;
  // Sets the API server, and replaces the earlier one. Null before it is destroyed.
  void Connect(GpuApi* api) { state_.api = api; }
  void Add(dra::Metrics::Operation operation, const std::vector<kubelet::ClaimName>& claims,
           std::stop_token cancelled, kubelet::Done done) override {
    claim_queue_.Add(operation, claims, std::move(cancelled), std::move(done));
  }
  void NoteChange() override {}
  TimePoint Turn() override;
  void AnswerAll(const std::string& error) override { claim_queue_.AnswerAll(error); }
  std::vector<kubelet::DeviceHealth> Health() const override { return host_watcher_.Health(); }
  bool CleanUp(std::function<void()> /*done*/) override { return false; }

 private:
  // Returns the slice to publish. Empty until node and host are known.
  std::optional<dra::ResourceSlice> WantedSlice();
  TimePoint Publish();
  void TakeBack(const kubelet::ClaimName& claim);

  const Additions additions_;
  HostView host_;
  GpuState state_;
  ClaimWorks claim_works_;
  dra::ClaimQueue claim_queue_;
  GarbageCollector garbage_collector_;
  dra::SlicePublisher slice_publisher_;
  HostWatcher host_watcher_;
  std::string said_ = {};  // Why the slice is not published.
};

}  // namespace gpu

// Reads GPUs and NVIDIA's driver.
//
// It retries with back-off until it succeeds. Then it reads every minute, and when a claim finds
// that the driver has changed. If the driver cannot be read for 2 minutes, no device is published.
// A read that does not end for 10 minutes has failed: of a lost GPU alone it takes less.
// Used by the deciding thread.
#pragma once

#include <map>
#include <string>

#include "node/gpu/host/gpu_reader.h"
#include "node/gpu/loop/gpu_state.h"
#include "node/kubelet/claims.h"
#include "pkg/base/backoff.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/task_queue.h"

namespace gpu {

class HostWatcher {
 public:
  // Writes `view`. `executor` runs reads of `reader`, and `tasks` is the deciding thread's.
  HostWatcher(GpuState& state, HostView& view, GpuReader& reader, base::Executor& executor,
              base::TaskQueue& tasks)
      : state_(state), view_(view), reader_(reader), executor_(executor), tasks_(tasks) {}

  // `is_needed` says that a claim waits for what the host has: then another driver is noticed at
  // once.
  void Turn(bool is_needed);
  TimePoint next() const { return reading_ ? TimePoint::max() : next_; }
  // Returns the health of each device that was ever published by this process.
  std::vector<kubelet::DeviceHealth> Health() const;

 private:
  void Take(const base::Result<GpuRead>& read);
  void TakeOver(const GpuRead& read);
  // `since` is when this may have begun.
  void NoteError(const base::Error& error, TimePoint since);
  // A read does not end.
  void NoteHang();
  // Writes the CDI files of prepared claims again that are of an earlier driver: their containers
  // may start again in place.
  base::Result<void> RenewSpecs();
  base::Result<void> RenewSpec(const std::string& uid, const CheckpointClaim& entry);
  void LogDevices() const;

  GpuState& state_;
  HostView& view_;
  GpuReader& reader_;
  base::Executor& executor_;
  base::TaskQueue& tasks_;
  std::string driver_mark_ = {};  // Of the driver that was read.
  TimePoint next_ = {};
  TimePoint look_next_ = {};  // For another driver.
  bool reading_ = false;
  TimePoint began_ = {};      // The last read.
  TimePoint failed_at_ = {};  // While reads fail: since when.
  std::string said_ = {};
  std::map<std::string, std::string> seen_ = {};  // UUIDs of published devices, by name.
  base::Backoff backoff_;                         // For one error.
};

}  // namespace gpu

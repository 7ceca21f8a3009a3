// Reads the host's driver and writes the base CDI spec.
//
// It retries with back-off until it succeeds. Then it reads every 10 minutes, and when a claim
// finds that the driver has changed. If GPUs have no device node after 2 minutes, it takes those
// that have one, says so, and reads every minute. If the driver cannot be read for 2 minutes, no
// more devices are allocated. Used by the deciding thread.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/host/host_reader.h"
#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/task_queue.h"

namespace plugin {

class HostWatcher {
 public:
  // Writes `view`. `executor` runs reads of `reader`, and `tasks` is the deciding thread's.
  HostWatcher(PluginState& state, HostView& view, HostReader& reader, base::Executor& executor,
              base::TaskQueue& tasks)
      : state_(state), view_(view), reader_(reader), executor_(executor), tasks_(tasks) {}

  // `is_needed` says that a claim waits for what the host has: then another driver is noticed at
  // once.
  void Turn(bool is_needed);
  TimePoint next() const { return reading_ ? TimePoint::max() : next_; }

 private:
  bool HasDriverSpec() const;
  void LookForOtherDriver();
  void Take(base::Result<DriverRead> read);
  void NoteError(bool is_of_fabric);
  void LogDriver(const Host& host);
  base::Result<void> TakeOver(const DriverRead& read);
  // Writes the device numbers of a driver that was loaded again into the CDI files of prepared
  // claims: their containers may start again in place.
  base::Result<void> RenumberClaims();

  PluginState& state_;
  HostView& view_;
  HostReader& reader_;
  base::Executor& executor_;
  base::TaskQueue& tasks_;
  std::string driver_mark_ = {};  // Of the driver that was read.
  std::string driver_spec_ = {};  // Text of the driver's CDI file. Empty until the host is read.
  TimePoint next_ = {};
  TimePoint look_next_ = {};  // For another driver.
  bool reading_ = false;
  TimePoint lost_at_ = {};                // If the host is lost, since when.
  std::optional<std::string> hook_ = {};  // Path on the host. Empty if there is none.
  std::string said_ = {};
  std::optional<TimePoint> gpus_lacked_since_ = {};  // Device nodes of GPUs.
  base::Backoff backoff_;                            // For one error.
};

}  // namespace plugin

// Reads the host's driver and writes the base CDI spec.
//
// It retries with back-off until it succeeds. Then it reads every 10 minutes, and when a claim
// finds that the driver has changed. If GPUs have no device node after 2 minutes, it takes those
// that have one, says so, and reads every minute. If the driver cannot be read for 2 minutes, no
// more devices are allocated. Reads run on a separate thread. Used by the deciding thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"
#include "pkg/base/serial_executor.h"

namespace plugin {

class HostWatcher {
 public:
  // `reader` may have capabilities that the driver needs for its first read. After a complete read
  // it drops all, unless the settings keep them.
  explicit HostWatcher(
      PluginState& state,
      std::unique_ptr<base::SerialExecutor> reader = std::make_unique<base::SerialExecutor>(),
      std::string own_hook = "/usr/bin/nvidia-cdi-hook")
      : state_(state), own_hook_(std::move(own_hook)), reader_(std::move(reader)) {}

  void Turn();
  TimePoint next() const { return reading_ ? TimePoint::max() : next_; }

 private:
  struct Read {
    std::string mark = {};
    Host host = {};
    std::string base_spec = {};
    std::string lacks = {};  // Which GPUs have no device node. Empty if all have one.
    bool has_gpu = true;     // At least one has, or none is needed.
  };
  static base::Result<Read> ReadAll(const Settings& settings, const HostPaths& paths,
                                    const std::string& hook);
  void Take(base::Result<Read> read);
  void NoteError(bool is_of_fabric);
  void LogDriver(const Host& host);
  base::Result<void> TakeOver(const Read& read);
  // Writes the device numbers of a driver that was loaded again into the CDI files of prepared
  // claims: their containers may start again in place.
  base::Result<void> RenumberClaims();

  PluginState& state_;
  const std::string own_hook_;  // Of the image.
  TimePoint next_ = {};
  TimePoint look_next_ = {};  // For another driver.
  bool reading_ = false;
  TimePoint lost_at_ = {};                // If the host is lost, since when.
  std::optional<std::string> hook_ = {};  // Path on the host. Empty if there is none.
  std::string said_ = {};
  std::optional<TimePoint> gpus_lacked_since_ = {};  // Device nodes of GPUs.
  base::Backoff backoff_;                            // For one error.
  std::unique_ptr<base::SerialExecutor> reader_;     // Last: it uses the other members.
};

}  // namespace plugin

// The host, as the deciding thread knows it.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/host/host.h"
#include "node/plugin/rules/identity.h"
#include "node/plugin/rules/resource_slice.h"

namespace plugin {

// HostWatcher writes it.
struct HostView {
  NodeIdentity self = {};
  std::optional<Host> host = {};  // Empty until it is read.
  // Why the host is not read, or what is wrong with it now. Empty if all is well.
  std::string trouble = "NVIDIA's driver has not been looked at yet";
  // Why it is read again, as in NodeObservation.
  std::string other_driver = {};
  bool is_lost = false;  // The driver was read once, and the last read of it failed.
  std::optional<DeviceError> device_error = {};
  // As of this turn: the driver's CDI file is as it was written. Before the host is read: a CDI
  // spec is there.
  bool has_driver_spec = false;
};

}  // namespace plugin

// What a plugin reads from its host: NVIDIA's driver, the fabric, device numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/cdi/spec.h"
#include "node/nvml/fabric.h"
#include "pkg/base/result.h"

namespace plugin {

struct HostPaths {
  std::string driver_root = "/driver-root";  // As seen by the plugin.
  // Further folders of NVIDIA's libraries, below `driver_root`.
  std::vector<std::string> library_folders = {};
  std::string devices = "/proc/devices";
  std::string capability = "/proc/driver/nvidia/capabilities/fabric-imex-mgmt";
};

struct Host {
  std::string driver_version = {};
  std::string clique = {};  // Empty if there is no fabric.
  int gpus = 0;             // Number that NVML reports, except GPUs that only drive a display.
  std::int64_t channel_major = 0;
  std::optional<cdi::DeviceNode> management = {};
  std::string fabric_health = {};  // What NVML reports as wrong with it. Empty if nothing.
  friend bool operator==(const Host&, const Host&) = default;
};

struct HostNeeds {
  nvml::Strictness strictness = nvml::Strictness::kAllAttached;
  // IMEX runs in daemons. Daemons pass peers to it by name, and need the capability if there is a
  // fabric.
  bool daemons = true;
  // GPUs that the fabric manager left out of their partition may have no fabric.
  bool partitions = false;
};

// Returns how strictly this host's fabric is checked. Partitions exist only in a system that has
// its own NVLink switches.
nvml::Strictness StrictnessOn(const std::string& driver_root, const HostNeeds& needs);

// Reads the host. Messages say what to do. Returns kInvalid if the fabric has an error: no more
// devices are prepared. Returns kUnavailable if the fabric is forming, or a device of the driver
// does not exist yet: retry soon. Returns kNotFound if the driver lacks something, or fails: retry.
base::Result<Host> ReadHost(const HostPaths& paths, const HostNeeds& needs);

}  // namespace plugin

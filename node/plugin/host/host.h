// What a plugin reads from its host: NVIDIA's driver, the fabric, device numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/cdi/spec.h"
#include "node/nvml/fabric.h"
#include "pkg/base/result.h"

namespace plugin {

struct HostPaths {
  std::string driver_root = "/driver-root";  // As seen by the plugin.
  std::string devices = "/proc/devices";
  std::string capability = "/proc/driver/nvidia/capabilities/fabric-imex-mgmt";
};

struct Host {
  std::string driver_version = {};
  std::string clique = {};  // Empty if there is no fabric.
  std::int64_t channel_major = 0;
  std::optional<cdi::DeviceNode> management = {};
  friend bool operator==(const Host&, const Host&) = default;
};

struct HostNeeds {
  nvml::Strictness strictness = nvml::Strictness::kAllAttached;
  bool names = true;  // Daemons pass peers to IMEX by name.
};

// Returns kInvalid if the fabric has an error: no more devices are given out. Any other error means
// that the driver is not ready, or lacks something: retry. Messages say what to do.
[[nodiscard]] base::Result<Host> ReadHost(const HostPaths& paths, const HostNeeds& needs);

// Returns the text without the white space around it.
[[nodiscard]] std::string_view Trim(std::string_view text);
// Returns the major number of a character device in the text of /proc/devices. Empty if absent.
[[nodiscard]] std::optional<std::int64_t> MajorOf(std::string_view devices, std::string_view name);
// Returns the device of a capability in the text of its file. Returns an error if it names none.
[[nodiscard]] base::Result<cdi::DeviceNode> CapabilityIn(std::string_view text, std::int64_t major);

}  // namespace plugin

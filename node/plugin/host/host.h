// What a plugin reads of its host: NVIDIA's driver, the fabric, numbers of devices.
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
  std::string driver_root = "/driver-root";  // As it is seen here.
  std::string devices = "/proc/devices";
  std::string capability = "/proc/driver/nvidia/capabilities/fabric-imex-mgmt";
};

struct Host {
  std::string driver_version = {};
  std::string clique = {};  // Empty: no fabric.
  std::int64_t channel_major = 0;
  std::optional<cdi::DeviceNode> management = {};
  friend bool operator==(const Host&, const Host&) = default;
};

struct HostNeeds {
  nvml::Strictness strictness = nvml::Strictness::kAllAttached;
  bool names = true;  // Daemons tell IMEX peers by their names.
};

// kInvalid: the fabric has an error, for which devices are not to be given to anybody new. Any
// other: it is not there yet, or lacks what is needed; look again. In words that say what to do.
[[nodiscard]] base::Result<Host> ReadHost(const HostPaths& paths, const HostNeeds& needs);

// Of a character device, in the text of /proc/devices.
[[nodiscard]] std::optional<std::int64_t> MajorOf(std::string_view devices, std::string_view name);
// The device of a capability, in the text of its file. kInvalid: it is none.
[[nodiscard]] base::Result<cdi::DeviceNode> CapabilityIn(std::string_view text, std::int64_t major);

}  // namespace plugin

// What the kernel says of NVIDIA's driver, and programs of the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "node/cdi/spec.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace driver {

// Returns a cheap fingerprint of the driver: device numbers, the file of NVIDIA's library, and the
// device nodes. It changes when the driver is replaced or reloaded, and when a GPU gets its node.
// `devices` is the path of /proc/devices, and `folders` is as in nvml::LibraryFolders().
std::string DriverMark(const std::string& root, const std::vector<std::string>& folders,
                       const std::string& devices);

// Returns the major number of a character device in the text of /proc/devices. Empty if absent.
std::optional<std::int64_t> MajorOf(std::string_view devices, std::string_view name);
// Returns the device of a capability, from the text of its file. Returns an error if the text has
// none.
base::Result<cdi::DeviceNode> CapabilityIn(std::string_view text, std::int64_t major);

// Runs a program of the driver, such as {"nvidia-imex", "--version"}, in the driver's root, with
// the libraries there. Returns what it prints. Empty if it fails or takes longer than 5 s.
std::optional<std::string> RunInRoot(const std::string& driver_root,
                                     const std::vector<std::string>& command,
                                     const base::Clock& clock, const std::stop_token& stop);

}  // namespace driver

// Mounts that hide the driver's files in this container's /proc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"

namespace plugin {

inline constexpr const char* kDriverProc = "/proc/driver/nvidia";

// Returns the mount points below `folder`, the latest first. `mountinfo` is the text of
// /proc/self/mountinfo, see proc(5).
std::vector<std::string> MountsBelow(std::string_view folder, const std::string& mountinfo);

// Unmounts everything below kDriverProc. Logs each mount that it cannot remove, with advice.
void UnmountProcMasks(base::Logger& logger);

}  // namespace plugin

// Mounts that the container runtime puts over the driver's files in /proc of this container.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"

namespace plugin {

inline constexpr const char* kDriverProc = "/proc/driver/nvidia";

// Returns the mount points below `folder`, the latest first. `mountinfo` is the text of proc(5)'s
// file of that name.
[[nodiscard]] std::vector<std::string> MountsBelow(std::string_view folder,
                                                   const std::string& mountinfo);

// Unmounts everything below kDriverProc. Logs what stays mounted, and what to do.
void UnmountProcMasks(base::Logger& logger);

}  // namespace plugin

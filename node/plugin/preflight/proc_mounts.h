// What a container runtime mounts over the driver's files in /proc, in this container alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"

namespace plugin {

inline constexpr const char* kDriverProc = "/proc/driver/nvidia";

// The mount points below the folder, the last one mounted first, in the text of mountinfo, as of
// proc(5).
[[nodiscard]] std::vector<std::string> MountsBelow(std::string_view folder,
                                                   const std::string& mountinfo);

// Takes away all that is mounted below kDriverProc. What stays is logged with what to do.
void UnmountProcMasks(base::Logger& logger);

}  // namespace plugin

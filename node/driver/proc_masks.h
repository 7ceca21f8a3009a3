// Mounts that hide the driver's files in this container's /proc.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/log.h"

namespace driver {

inline constexpr const char* kDriverProc = "/proc/driver/nvidia";

// Returns the mount points below kDriverProc that may hide the driver's files, the latest first. A
// mount over the driver's parameters is not among them: it keeps NVIDIA's library from creating
// device nodes (maskNvidiaDriverParams of the charts). `mountinfo` is the text of
// /proc/self/mountinfo, see proc(5).
std::vector<std::string> ProcMasks(const std::string& mountinfo);

// Unmounts all ProcMasks. Logs each mount that it cannot remove, with advice.
void UnmountProcMasks(base::Logger& logger);

}  // namespace driver

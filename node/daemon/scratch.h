// The writable folders of a container whose own file system is read-only.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"

namespace imex_daemon {

// Removes what is in the folders. They are a volume of the pod's, so what a container of before
// wrote is still there, such as IMEX's own state, and IMEX must find what it finds in a new
// container: nothing. What is mounted stays, and so do the folders above it. Symbolic links are
// removed and not followed. A folder that does not exist is empty. kInvalid: the kernel does not
// say what is mounted (before Linux 5.8), and nothing was removed; or something cannot be removed.
[[nodiscard]] base::Result<void> EmptyScratch(const std::vector<std::string>& folders);

}  // namespace imex_daemon

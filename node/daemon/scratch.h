// The writable folders of a container whose own file system is read-only.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"

namespace imex_daemon {

// Removes the contents of the folders. They are on a volume of the pod, so files of an earlier
// container may remain, such as IMEX's state. IMEX must find what it finds in a new container:
// empty folders.
// The folders themselves and mount points below them stay. Symbolic links are removed, not
// followed. A folder that does not exist counts as empty. Returns kInvalid if the kernel cannot
// list mounts (before Linux 5.8), and then nothing was removed; or if a file cannot be removed.
base::Result<void> EmptyScratch(const std::vector<std::string>& folders);

}  // namespace imex_daemon

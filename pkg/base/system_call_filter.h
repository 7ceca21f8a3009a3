// A filter of this process's system calls (seccomp(2)).
#pragma once

#include "pkg/base/result.h"

namespace base {

// Makes the kernel refuse, for good, system calls that no service needs once it has started: those
// that change mounts, namespaces, modules, clocks or keys, look into other processes, or reach
// parts of the kernel in which many faults were found (bpf, io_uring, userfaultfd). They fail with
// EPERM; clone3 fails with ENOSYS, so that libraries use clone. Threads and programs that this
// process starts later have the filter, too. Call it before the first thread, and after
// KeepCapabilities(). kInvalid: the kernel refused, as the message says, and nothing was changed.
[[nodiscard]] Result<void> FilterSystemCalls();

}  // namespace base

// A filter of this process's system calls (seccomp(2)).
#pragma once

#include "pkg/base/result.h"

namespace base {

// Makes the kernel refuse, for ever, system calls that a running service does not need: calls that
// change mounts, namespaces, modules, clocks or keys, read other processes, or use parts of the
// kernel with many known faults (bpf, io_uring, userfaultfd). They fail with EPERM; clone3 fails
// with ENOSYS, so that libraries use clone. The filter also applies to later threads and child
// programs. Call it before the first thread, and after KeepCapabilities(). kInvalid: the kernel
// refused, with its reason, and nothing changed.
Result<void> FilterSystemCalls();

}  // namespace base

// Linux capabilities of this process (capabilities(7)).
#pragma once

#include <vector>

#include "pkg/base/result.h"

namespace base {

// Drops all capabilities except `kept` (numbers of linux/capability.h) for ever, also for programs
// that this process starts. Does not add a capability that the process lacks. Call it before the
// first thread, because each thread has its own capabilities. kInvalid: there are several threads,
// and nothing changed; or the kernel refused, with its reason.
Result<void> KeepCapabilities(const std::vector<int>& kept);

// Does the same for the calling thread, and for threads and programs that it starts. Other threads
// keep theirs. A thread needs CAP_SETPCAP to clear its bounding set.
Result<void> KeepThreadCapabilities(const std::vector<int>& kept);

}  // namespace base

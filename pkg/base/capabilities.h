// Linux capabilities of this process (capabilities(7)).
#pragma once

#include <initializer_list>

#include "pkg/base/result.h"

namespace base {

// Drops all capabilities but `kept` (numbers of linux/capability.h) for good: no program that this
// process starts gains one either. A capability that it does not have it does not get. Call it
// before the first thread is started, since each thread has its own. kInvalid: there are several
// threads, and nothing was changed; or the kernel refused, as the message says.
[[nodiscard]] Result<void> KeepCapabilities(std::initializer_list<int> kept);

}  // namespace base

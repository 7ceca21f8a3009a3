#pragma once

#include "pkg/base/clock.h"

namespace base {

// The clocks of the system. Now() goes on while the machine sleeps (CLOCK_BOOTTIME), so that a
// lease has run out when a suspended machine wakes up. Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint Now() const override;
  [[nodiscard]] WallTime Wall() const override;
};

}  // namespace base

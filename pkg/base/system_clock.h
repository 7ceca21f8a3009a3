#pragma once

#include "pkg/base/clock.h"

namespace base {

// The system's clocks. Now() advances while the machine sleeps (CLOCK_BOOTTIME), so that a Lease
// has expired when a suspended machine wakes up. Thread-safe.
class SystemClock final : public Clock {
 public:
  TimePoint Now() const override;
  WallTime Wall() const override;
};

}  // namespace base

// When IMEX is told that names have other addresses. Pure.
//
// SIGUSR1 makes it look names up again and reconnect, and a second one within 5 s does nothing.
// So changes that come together are told by one signal, once they have ceased for a moment, and
// what changes in the 5 s after it by one more at their end.
#pragma once

#include <optional>

#include "pkg/base/clock.h"

namespace imex {

struct SignalSchedule {
  std::optional<base::Clock::TimePoint> changed = {};  // First of what it has not been told.
  base::Clock::TimePoint changed_last = {};            // Last of that.
  std::optional<base::Clock::TimePoint> signalled = {};
};

// When the next signal is due, later if others are known to come; nothing: it knows everything.
[[nodiscard]] std::optional<base::Clock::TimePoint> WhenToSignal(const SignalSchedule& schedule,
                                                                 bool others_come = false);

[[nodiscard]] SignalSchedule AfterChange(SignalSchedule schedule, base::Clock::TimePoint now);
[[nodiscard]] SignalSchedule AfterSignal(base::Clock::TimePoint now);

}  // namespace imex

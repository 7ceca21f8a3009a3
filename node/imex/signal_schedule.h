// Schedule of the signals that make IMEX look names up again. Pure.
//
// SIGUSR1 makes IMEX look names up and reconnect. A second signal within 5 s has no effect. So
// changes that come together share one signal, sent once they have stopped for a moment. Changes in
// the 5 s after it share the next signal, at the end of that time. A change is a new name or
// address: IMEX has nothing to look up for a peer that left.
#pragma once

#include <optional>

#include "pkg/base/clock.h"

namespace imex {

struct SignalSchedule {
  std::optional<base::Clock::TimePoint> changed =
      {};                                    // First change since the last signal. Empty if none.
  base::Clock::TimePoint changed_last = {};  // Last change since then.
  std::optional<base::Clock::TimePoint> signalled = {};
};

// Returns when the next signal is due. Empty if nothing has changed. Later if `others_come`: more
// changes are expected.
std::optional<base::Clock::TimePoint> WhenToSignal(const SignalSchedule& schedule,
                                                   bool others_come = false);

SignalSchedule AfterChange(SignalSchedule schedule, base::Clock::TimePoint now);
SignalSchedule AfterSignal(base::Clock::TimePoint now);

}  // namespace imex

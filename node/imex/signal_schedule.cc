#include "node/imex/signal_schedule.h"

#include <algorithm>

namespace imex {

// Cliques form in bursts, and a signal that is too early costs five seconds.
constexpr std::chrono::milliseconds kQuiet{300};
constexpr std::chrono::milliseconds kGatherMost{1'500};
// IMEX counts from when it received the signal, which is a little after it was sent.
constexpr std::chrono::milliseconds kDeaf{5'200};

std::optional<base::Clock::TimePoint> WhenToSignal(const SignalSchedule& schedule,
                                                   bool others_come) {
  if (!schedule.changed) return {};
  const auto at_most = *schedule.changed + kGatherMost;
  const auto gathered = others_come ? at_most : std::min(schedule.changed_last + kQuiet, at_most);
  return schedule.signalled ? std::max(gathered, *schedule.signalled + kDeaf) : gathered;
}

SignalSchedule AfterChange(SignalSchedule schedule, base::Clock::TimePoint now) {
  if (!schedule.changed) schedule.changed = now;
  schedule.changed_last = now;
  return schedule;
}

SignalSchedule AfterSignal(base::Clock::TimePoint now) { return {.signalled = now}; }

}  // namespace imex

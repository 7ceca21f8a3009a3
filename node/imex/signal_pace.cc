#include "node/imex/signal_pace.h"

#include <algorithm>

namespace imex {

// Cliques form in bursts, and one signal too early costs five seconds.
constexpr std::chrono::milliseconds kQuiet{300};
constexpr std::chrono::milliseconds kGatherMost{1'500};
// IMEX counts from when it took the signal, which is a little after we sent it.
constexpr std::chrono::milliseconds kDeaf{5'200};

std::optional<base::Clock::TimePoint> WhenToSignal(const SignalPace& pace, bool others_come) {
  if (!pace.changed) return {};
  const auto at_most = *pace.changed + kGatherMost;
  const auto gathered = others_come ? at_most : std::min(pace.changed_last + kQuiet, at_most);
  return pace.signalled ? std::max(gathered, *pace.signalled + kDeaf) : gathered;
}

SignalPace AfterChange(SignalPace pace, base::Clock::TimePoint now) {
  if (!pace.changed) pace.changed = now;
  pace.changed_last = now;
  return pace;
}

SignalPace AfterSignal(base::Clock::TimePoint now) { return {.signalled = now}; }

}  // namespace imex

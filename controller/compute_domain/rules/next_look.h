// Pace of live reads that only explain why something waits. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "pkg/base/clock.h"

namespace compute_domain {

// Returns the time until the next read: 10 s after the last one, later up to 5 minutes. `waited` is
// how long the thing has waited until `now`. At most 0 if the read is due.
inline std::chrono::milliseconds UntilNextLook(std::chrono::milliseconds waited,
                                               base::Clock::TimePoint last,
                                               base::Clock::TimePoint now) {
  constexpr std::chrono::milliseconds kMin{10'000};
  constexpr std::chrono::milliseconds kMax{300'000};
  // The interval grows, because what is read changes ever less. It depends on the waiting time at
  // the last read. The waiting time until now grows as fast as the clock.
  const auto had_waited = std::chrono::floor<std::chrono::milliseconds>(waited - (now - last));
  return std::chrono::ceil<std::chrono::milliseconds>(last + std::clamp(had_waited, kMin, kMax) -
                                                      now);
}

}  // namespace compute_domain

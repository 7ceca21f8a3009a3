// When something that failed is tried again. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace imexd {

struct Pace {
  base::Clock::TimePoint next = base::Clock::TimePoint::min();  // Not before then.
  int failures = 0;                                             // In a row.
};

struct BackOff {
  std::chrono::milliseconds first{0};
  std::chrono::milliseconds most{0};
};

// Up to twice as long after each failure, and anywhere in that, so that daemons that met once do
// not meet again.
[[nodiscard]] inline Pace AfterFailure(const Pace& before, const BackOff& back_off,
                                       base::Clock::TimePoint now, base::Random& random) {
  constexpr int kDoublingsMax = 16;
  const auto doubled = back_off.first * (1 << std::min(before.failures, kDoublingsMax));
  const std::chrono::duration<double, std::milli> wait = std::min(doubled, back_off.most);
  const auto jittered = wait * (0.1 + 0.9 * random.Fraction());
  return {.next = now + std::chrono::duration_cast<std::chrono::nanoseconds>(jittered),
          .failures = before.failures + 1};
}

}  // namespace imexd

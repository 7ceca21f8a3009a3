#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "pkg/base/clock.h"

namespace base {

// A clock that moves only by Advance(), and by `step` with each look at Now(). For tests.
// Thread-safe.
class ManualClock final : public Clock {
 public:
  static constexpr WallTime kNewYear = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

  // Starts at `wall`, and well after the monotonic clock's zero.
  explicit ManualClock(WallTime wall = kNewYear, std::chrono::nanoseconds step = {})
      : wall_(wall), step_(step) {}

  void Advance(std::chrono::nanoseconds by) { passed_ += by.count(); }
  TimePoint Now() const override {
    const std::chrono::nanoseconds passed(passed_.fetch_add(step_.count()));
    return TimePoint(std::chrono::hours(1)) + passed + step_;
  }
  WallTime Wall() const override {
    const std::chrono::nanoseconds passed(passed_.load());
    return wall_ + std::chrono::floor<std::chrono::microseconds>(passed);
  }

 private:
  const WallTime wall_;
  const std::chrono::nanoseconds step_;
  mutable std::atomic<std::int64_t> passed_ = 0;
};

}  // namespace base

#pragma once

#include "pkg/base/clock.h"

namespace base {

// A clock that moves only by Advance(). For tests; for one thread.
class ManualClock final : public Clock {
 public:
  // Starts at `wall`, by default 2026-01-01T00:00:00Z, and well after the monotonic clock's zero.
  explicit ManualClock(WallTime wall = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1))
      : now_(std::chrono::hours(1)), wall_(wall) {}

  void Advance(std::chrono::nanoseconds by) {
    now_ += by;
    wall_ += std::chrono::floor<std::chrono::microseconds>(by);
  }
  [[nodiscard]] TimePoint Now() const override { return now_; }
  [[nodiscard]] WallTime Wall() const override { return wall_; }

 private:
  TimePoint now_;
  WallTime wall_;
};

}  // namespace base

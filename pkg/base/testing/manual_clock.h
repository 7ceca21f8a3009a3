#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "pkg/base/clock.h"

namespace base {

// The clock of tests. It moves by Advance(), by `step` with each look at Now(), and as `follows`
// says: the time that has passed for something else. Thread-safe if `follows` is.
class ManualClock final : public Clock {
 public:
  static constexpr WallTime kNewYear = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

  using Follows = std::function<std::chrono::nanoseconds()>;

  // Starts at `wall`, and well after the monotonic clock's zero.
  explicit ManualClock(WallTime wall = kNewYear, std::chrono::nanoseconds step = {})
      : wall_(wall), step_(step) {}
  explicit ManualClock(Follows follows) : wall_(kNewYear), follows_(std::move(follows)) {}

  void Advance(std::chrono::nanoseconds by) { passed_ += by.count(); }
  TimePoint Now() const override {
    const std::chrono::nanoseconds passed(passed_.fetch_add(step_.count()));
    return TimePoint(std::chrono::hours(1)) + passed + step_ + follows_();
  }
  WallTime Wall() const override {
    const std::chrono::nanoseconds passed = std::chrono::nanoseconds(passed_) + follows_();
    return wall_ + std::chrono::floor<std::chrono::microseconds>(passed);
  }

 private:
  const WallTime wall_;
  const std::chrono::nanoseconds step_ = {};
  const Follows follows_ = [] { return std::chrono::nanoseconds(); };
  mutable std::atomic<std::int64_t> passed_ = 0;
};

}  // namespace base

#pragma once

#include <chrono>

namespace base {

// The source of time. All code that waits, expires or writes timestamps uses a Clock, so that tests
// and the simulation control time. Implementations are thread-safe.
class Clock {
 public:
  // Monotonic: for durations, deadlines and order. Never compared across processes.
  using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
  // Calendar time: only for values that people and other processes read.
  using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

  virtual ~Clock() = default;

  virtual TimePoint Now() const = 0;
  virtual WallTime Wall() const = 0;
};

}  // namespace base

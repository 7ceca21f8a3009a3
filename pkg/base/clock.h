#pragma once

#include <chrono>

namespace base {

// Where time comes from. Everything that waits, expires or stamps takes one, so that tests and the
// simulation decide how time passes. Implementations are thread-safe.
class Clock {
 public:
  // Monotonic: for durations, deadlines and order. Never compared across processes.
  using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
  // The calendar: only for what people and other processes read.
  using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint Now() const = 0;
  [[nodiscard]] virtual WallTime Wall() const = 0;
};

}  // namespace base

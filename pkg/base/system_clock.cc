#include "pkg/base/system_clock.h"

#include <ctime>

#include "pkg/base/check.h"

namespace base {

Clock::TimePoint SystemClock::Now() const {
  timespec time = {};
  CHECK(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Clock::WallTime SystemClock::Wall() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace base

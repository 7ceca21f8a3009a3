// How tests wait for what other threads and processes do. They have no clock of their own: a
// machine may be as slow as it is, and the end of the wait is there for what would never come.
#pragma once

#include <chrono>
#include <thread>

namespace base {

constexpr std::chrono::minutes kHangs{2};

// For calls that take the time of their end.
inline std::chrono::system_clock::time_point HangEnd() {
  return std::chrono::system_clock::now() + kHangs;
}

// Looks again and again. Returns whether `condition` came to hold.
template <typename Condition>
bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kHangs;
  for (int looks = 0; !condition(); ++looks) {
    if (std::chrono::steady_clock::now() > end) return false;
    if (looks < 10'000) {
      std::this_thread::yield();
    } else {  // The program has not that much processor time.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}

}  // namespace base

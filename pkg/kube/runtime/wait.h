#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "pkg/base/clock.h"

namespace kube {

// Blocks until `clock` reaches `until`, or `stop` is requested.
inline void WaitUntil(const base::Clock& clock, base::Clock::TimePoint until,
                      const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped_cv;
  std::unique_lock lock(mutex);
  stopped_cv.wait_for(lock, stop, until - clock.Now(), [] { return false; });
}

}  // namespace kube

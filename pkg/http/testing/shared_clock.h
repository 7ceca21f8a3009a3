#pragma once

#include <atomic>
#include <chrono>

#include "pkg/base/clock.h"

namespace http::testing {

// A clock that moves only by Advance(). Thread-safe.
class SharedClock final : public base::Clock {
 public:
  [[nodiscard]] TimePoint Now() const override {
    return TimePoint(std::chrono::seconds(seconds_.load()));
  }
  [[nodiscard]] WallTime Wall() const override { return {}; }
  void Advance(int seconds) { seconds_ += seconds; }

 private:
  std::atomic<int> seconds_{1'000};
};

}  // namespace http::testing

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "pkg/base/system_clock.h"

namespace kube {

// The system clock, which tests can advance. Thread-safe.
class AheadClock final : public base::Clock {
 public:
  [[nodiscard]] TimePoint Now() const override {
    return clock_.Now() + std::chrono::nanoseconds(ahead_.load());
  }
  [[nodiscard]] WallTime Wall() const override { return clock_.Wall(); }
  void Advance(std::chrono::nanoseconds by) { ahead_ += by.count(); }

 private:
  const base::SystemClock clock_;
  std::atomic<std::int64_t> ahead_ = 0;
};

}  // namespace kube

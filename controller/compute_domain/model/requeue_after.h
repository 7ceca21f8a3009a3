// Delay after which a domain is reconciled again without a change. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace compute_domain {

// The shortest delay that was requested. Empty if only a change starts the next reconcile.
class RequeueAfter {
 public:
  RequeueAfter() = default;
  RequeueAfter(std::chrono::milliseconds delay) : delay_(delay) {}

  void AtMost(std::chrono::milliseconds delay) { delay_ = std::min(delay, delay_.value_or(delay)); }
  void AtMost(const RequeueAfter& other) {
    if (other.delay_) AtMost(*other.delay_);
  }

  // Requests a requeue at `until`, or at once if that is over.
  template <typename TimePoint>
  void AtMostUntil(TimePoint until, TimePoint now) {
    AtMost(std::chrono::ceil<std::chrono::milliseconds>(std::max(until, now) - now));
  }

  // Requests a requeue after `rest`, unless that is zero or less. Returns whether it is.
  template <typename Duration>
  bool RequeueUnlessDue(Duration rest) {
    const auto delay = std::chrono::ceil<std::chrono::milliseconds>(rest);
    if (delay.count() > 0) AtMost(delay);
    return delay.count() <= 0;
  }

  explicit operator bool() const { return delay_.has_value(); }
  std::chrono::milliseconds operator*() const { return *delay_; }
  friend bool operator==(const RequeueAfter&, const RequeueAfter&) = default;
  friend bool operator==(const RequeueAfter& after, std::chrono::milliseconds delay) {
    return after.delay_ == delay;
  }

 private:
  std::optional<std::chrono::milliseconds> delay_ = {};
};

}  // namespace compute_domain

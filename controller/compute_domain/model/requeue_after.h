// When a domain is reconciled again although nothing changed. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace compute_domain {

// The soonest of all that was asked for. Empty if a change is waited for.
class RequeueAfter {
 public:
  RequeueAfter() = default;
  RequeueAfter(std::chrono::milliseconds delay) : delay_(delay) {}

  void AtMost(std::chrono::milliseconds delay) { delay_ = std::min(delay, delay_.value_or(delay)); }
  void AtMost(const RequeueAfter& other) {
    if (other.delay_) AtMost(*other.delay_);
  }

  // Whether a time has come that is `rest` away; if not, it is asked for.
  template <typename Duration>
  [[nodiscard]] bool IsDue(Duration rest) {
    const auto delay = std::chrono::ceil<std::chrono::milliseconds>(rest);
    if (delay.count() > 0) AtMost(delay);
    return delay.count() <= 0;
  }

  explicit operator bool() const { return delay_.has_value(); }
  [[nodiscard]] std::chrono::milliseconds operator*() const { return *delay_; }
  friend bool operator==(const RequeueAfter&, const RequeueAfter&) = default;
  friend bool operator==(const RequeueAfter& after, std::chrono::milliseconds delay) {
    return after.delay_ == delay;
  }

 private:
  std::optional<std::chrono::milliseconds> delay_ = {};
};

}  // namespace compute_domain

// Back-off for writes of one object.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/kube/api/meta.h"

namespace nodesim {

// The next write waits until the watch has shown the last one, or a stale cache would cause a
// second write. After a failure it also waits for the back-off. A plain value, used by one thread
// at a time.
class WriteBackoff {
 public:
  using TimePoint = base::Clock::TimePoint;
  using Millis = std::chrono::milliseconds;

  // Maximum wait for the watch to show a write. Writes are safe to repeat.
  static constexpr std::chrono::seconds kPatience{5};

  struct Policy {
    Millis first{100};
    Millis most{5'000};
    double jitter = 0.25;  // Share of the delay, both ways.
  };

  // `version` is the object's in the cache. Empty if the object does not exist.
  bool MayWrite(TimePoint now, std::string_view version) const {
    return now >= retry_at_ && (HasSeen(version) || now >= seen_by_);
  }
  // Returns whether the cache is at least as new as the last write.
  bool HasSeen(std::string_view version) const {
    return written_.empty() || (!version.empty() && !kube::IsOlder(version, written_));
  }
  // Returns when to try again, if nothing changes before.
  TimePoint Next(std::string_view version) const {
    return HasSeen(version) ? retry_at_ : std::max(retry_at_, seen_by_);
  }
  int failures() const { return failures_; }

  // `version` is the reply's. Empty if a watch will show nothing.
  void Succeeded(TimePoint now, std::string version) {
    failures_ = 0;
    retry_at_ = now;
    written_ = std::move(version);
    seen_by_ = now + kPatience;
  }
  // The object is being deleted. Gives the watch time to show that.
  void Deleted(TimePoint now) {
    failures_ = 0;
    retry_at_ = now + std::chrono::seconds(1);
  }
  void Failed(TimePoint now, Policy policy, base::Random& random) {
    Millis delay = policy.first;
    for (int i = 0; i < failures_ && delay < policy.most; ++i) delay *= 2;
    delay = std::min(delay, policy.most);
    const double factor = 1 + policy.jitter * (2 * random.Fraction() - 1);
    const auto jittered = std::chrono::duration<double, std::milli>(delay) * factor;
    retry_at_ = now + std::chrono::duration_cast<std::chrono::nanoseconds>(jittered);
    ++failures_;
  }

 private:
  int failures_ = 0;
  TimePoint retry_at_ = {};
  TimePoint seen_by_ = {};
  std::string written_;  // Version of our last write.
};

}  // namespace nodesim

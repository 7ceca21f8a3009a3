// How long to wait after something failed, and failed again.
#pragma once

#include <algorithm>
#include <chrono>

#include "pkg/base/random.h"

namespace base {

struct BackoffPolicy {
  std::chrono::nanoseconds first{0};
  std::chrono::nanoseconds most{0};
  // Up to this share of a delay is added at random, so that callers that failed together do not
  // come back together.
  double jitter = 0;
};

// `least`, and `fraction` of `share` of it more; from 0 to 1.
[[nodiscard]] inline std::chrono::nanoseconds Jittered(std::chrono::nanoseconds least, double share,
                                                       double fraction) {
  const double extra = static_cast<double>(least.count()) * share * fraction;
  return least + std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(extra));
}
// `least`, and up to `share` of it more.
[[nodiscard]] inline std::chrono::nanoseconds Jittered(std::chrono::nanoseconds least, double share,
                                                       Random& random) {
  return Jittered(least, share, random.Fraction());
}

// The failures in a row of one thing: the first delay of the policy, then twice the last one, up to
// its most. A value, for one thread. The policy may change from one failure to the next.
class Backoff {
 public:
  // After one more failure; without jitter.
  std::chrono::nanoseconds Next(const BackoffPolicy& policy) {
    delay_ = std::clamp(delay_ * 2, policy.first, policy.most);
    return delay_;
  }
  // With the policy's jitter. `at_least` is what a server asked for: the delay is never less.
  std::chrono::nanoseconds Next(const BackoffPolicy& policy, Random& random,
                                std::chrono::nanoseconds at_least = {}) {
    return Jittered(std::max(Next(policy), at_least), policy.jitter, random);
  }
  // It succeeded: the next failure is a first one.
  void Reset() { delay_ = {}; }

  // The last one, without jitter. Zero if nothing failed since the last success.
  [[nodiscard]] std::chrono::nanoseconds delay() const { return delay_; }

 private:
  std::chrono::nanoseconds delay_{0};
};

}  // namespace base

// Computes delays between retries.
#pragma once

#include <algorithm>
#include <chrono>

#include "pkg/base/random.h"

namespace base {

struct BackoffPolicy {
  std::chrono::nanoseconds first{0};
  std::chrono::nanoseconds most{0};
  // Up to this share of the delay is added at random, so that callers that failed together do not
  // retry together.
  double jitter = 0;
};

// Returns `least` * (1 + `share` * `fraction`). `fraction` is from 0 to 1.
inline std::chrono::nanoseconds Jittered(std::chrono::nanoseconds least, double share,
                                         double fraction) {
  const double extra = static_cast<double>(least.count()) * share * fraction;
  return least + std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(extra));
}
// The same with a random fraction.
inline std::chrono::nanoseconds Jittered(std::chrono::nanoseconds least, double share,
                                         Random& random) {
  return Jittered(least, share, random.Fraction());
}

// The back-off of one operation. The first delay is the policy's `first`; each further failure
// doubles it, up to `most`. A value, for one thread. The policy may change between failures.
class Backoff {
 public:
  // Returns the delay after a failure, without jitter.
  std::chrono::nanoseconds Next(const BackoffPolicy& policy) {
    delay_ = std::clamp(delay_ * 2, policy.first, policy.most);
    return delay_;
  }
  // The same with the policy's jitter. The delay is at least `at_least`, which a server may have
  // asked for.
  std::chrono::nanoseconds Next(const BackoffPolicy& policy, Random& random,
                                std::chrono::nanoseconds at_least = {}) {
    return Jittered(std::max(Next(policy), at_least), policy.jitter, random);
  }
  // The operation succeeded: the next failure counts as the first.
  void Reset() { delay_ = {}; }

  // The last delay, without jitter. Zero if nothing failed since the last success.
  std::chrono::nanoseconds delay() const { return delay_; }

 private:
  std::chrono::nanoseconds delay_{0};
};

}  // namespace base

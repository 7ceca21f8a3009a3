// Rate limit for an action that another client may undo.
#pragma once

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"

namespace dra {

// Also for an action that may have no effect. The first time is immediate. If the action is
// repeated as soon as allowed, the delay grows. Used by one thread.
class RepeatLimit {
 public:
  explicit RepeatLimit(base::BackoffPolicy policy) : policy_(policy) {}

  // Returns the earliest time of the next action.
  base::Clock::TimePoint next() const { return next_; }
  void Count(base::Clock::TimePoint now) {
    // After such a long pause the next action counts as the first.
    if (now >= next_ + backoff_.delay()) backoff_.Reset();
    next_ = now + backoff_.Next(policy_);
  }
  void Reset() {
    backoff_.Reset();
    next_ = {};
  }

 private:
  const base::BackoffPolicy policy_;
  base::Backoff backoff_;
  base::Clock::TimePoint next_ = {};
};

}  // namespace dra

// A limit for an action that another client may undo, or that may bring nothing.
#pragma once

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"

namespace plugin {

// The first time is immediate; repeated as soon as it may be, the action becomes ever more rare.
// Used by one thread.
class RepeatLimit {
 public:
  explicit RepeatLimit(base::BackoffPolicy policy) : policy_(policy) {}

  // Earliest time of the next one.
  [[nodiscard]] base::Clock::TimePoint next() const { return next_; }
  void Count(base::Clock::TimePoint now) {
    // What was not needed for so long is a first time again.
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

}  // namespace plugin

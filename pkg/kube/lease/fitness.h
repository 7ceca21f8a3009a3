// Decides by its ability to work whether a replica may ask for the Lease. Pure.
//
// A leader that cannot work for a minute must give the Lease up, so that another replica may try.
// It asks again only after it could work for a minute without a break, and each further time for
// twice as long, up to ten minutes. A replica that never gave up asks as soon as it can work.
// Twenty minutes of work without a break make up for the past.
//
// It outlives the terms of its process: a new term must not forget why the last one ended. For one
// thread.
#pragma once

#include <chrono>
#include <optional>

#include "pkg/base/clock.h"

namespace kube {

class Fitness {
 public:
  // Notes whether the replica can do a leader's work. Call it once a second or more often.
  void Observe(base::Clock::TimePoint now, bool can_work);
  // Returns whether the replica may ask for the Lease.
  bool MayAsk(base::Clock::TimePoint now) const;
  // Returns whether a leader must give the Lease up.
  bool MustGiveUp(base::Clock::TimePoint now) const;
  // Notes that it gives the Lease up.
  void OnGivenUp();

 private:
  bool can_work_ = false;
  // When `can_work_` last changed. Empty before the first Observe().
  std::optional<base::Clock::TimePoint> since_ = {};
  std::chrono::nanoseconds wait_{0};  // How long it must work without a break before it asks.
};

}  // namespace kube

// When an exec plugin is run again: before what it printed expires, when the API server rejects
// that, and after a failure; never so often that it is a load, whatever plugin and server do.
//
// A value, for one thread.
#pragma once

#include <chrono>
#include <optional>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"

namespace kube {

class ExecSchedule {
 public:
  using TimePoint = base::Clock::TimePoint;

  // The first run is due at once.
  explicit ExecSchedule(TimePoint now) : due_(now) {}

  // The result of a run that has just ended. `life`: for how long its credential is good; empty:
  // for as long as the API server takes it.
  void Succeeded(TimePoint now, std::optional<std::chrono::nanoseconds> life);
  void Failed(TimePoint now);
  // The API server answered 401. Returns whether that is news.
  bool Rejected(TimePoint now);

  // TimePoint::max(): not before a rejection.
  [[nodiscard]] TimePoint due() const { return due_; }

 private:
  TimePoint due_;
  TimePoint succeeded_at_ = {};
  bool is_taken_ = false;  // The last run succeeded, and nothing was rejected since.
  base::Backoff failures_;
  base::Backoff rejections_;  // Of credentials that were rejected soon.
};

}  // namespace kube

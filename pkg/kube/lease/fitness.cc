#include "pkg/kube/lease/fitness.h"

#include <algorithm>

namespace kube {

namespace {

constexpr std::chrono::minutes kPatience{1};
constexpr std::chrono::minutes kLongestWait{10};
constexpr std::chrono::minutes kForgiven{20};

}  // namespace

void Fitness::Observe(base::Clock::TimePoint now, bool can_work) {
  if (!since_ || can_work != can_work_) since_ = now;
  can_work_ = can_work;
  if (can_work && now - *since_ >= kForgiven) wait_ = {};
}

bool Fitness::MayAsk(base::Clock::TimePoint now) const {
  return can_work_ && now - *since_ >= wait_;
}

bool Fitness::MustGiveUp(base::Clock::TimePoint now) const {
  return since_ && !can_work_ && now - *since_ >= kPatience;
}

void Fitness::OnGivenUp() {
  wait_ = std::clamp<std::chrono::nanoseconds>(2 * wait_, kPatience, kLongestWait);
}

}  // namespace kube

#include "pkg/kube/client/exec_schedule.h"

#include <algorithm>

namespace kube {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Before it expires by a tenth of its life: a run takes seconds, and may fail a few times.
constexpr nanoseconds kMarginLeast = seconds(10);
constexpr nanoseconds kMarginMost = minutes(5);
// Between a success and the next run. Many plugins print what they printed before until that has
// expired, so asking them in its last seconds would only repeat itself.
constexpr base::BackoffPolicy kRest = {.first = seconds(5), .most = minutes(5)};
constexpr base::BackoffPolicy kRetry = {.first = seconds(1), .most = minutes(1)};

}  // namespace

void ExecSchedule::Succeeded(TimePoint now, std::optional<nanoseconds> life) {
  is_taken_ = true;
  failures_.Reset();
  succeeded_at_ = now;
  due_ = TimePoint::max();
  if (!life || *life > due_ - now) return;
  due_ = now + std::max(*life - std::clamp(*life / 10, kMarginLeast, kMarginMost), kRest.first);
}

void ExecSchedule::Failed(TimePoint now) {
  is_taken_ = false;
  due_ = now + failures_.Next(kRetry);
}

bool ExecSchedule::Rejected(TimePoint now) {
  if (!is_taken_) return false;  // A run is due already, or under way.
  is_taken_ = false;
  if (now - succeeded_at_ >= kRest.most) rejections_.Reset();
  due_ = std::min(due_, std::max(now, succeeded_at_ + rejections_.Next(kRest)));
  return true;
}

}  // namespace kube

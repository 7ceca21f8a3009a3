#include "pkg/kube/client/exec_pace.h"

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
constexpr nanoseconds kRestLeast = seconds(5);
constexpr nanoseconds kRestMost = minutes(5);
constexpr nanoseconds kRetryFirst = seconds(1);
constexpr nanoseconds kRetryMost = minutes(1);

// `first` for the first, doubled for each that follows, up to `most`.
nanoseconds Doubled(nanoseconds first, int count, nanoseconds most) {
  for (int i = 1; i < count && first < most; ++i) first *= 2;
  return std::min(first, most);
}

}  // namespace

void ExecPace::Succeeded(TimePoint now, std::optional<nanoseconds> life) {
  is_taken_ = true;
  failures_ = 0;
  succeeded_at_ = now;
  due_ = TimePoint::max();
  if (!life || *life > due_ - now) return;
  due_ = now + std::max(*life - std::clamp(*life / 10, kMarginLeast, kMarginMost), kRestLeast);
}

void ExecPace::Failed(TimePoint now) {
  is_taken_ = false;
  due_ = now + Doubled(kRetryFirst, ++failures_, kRetryMost);
}

bool ExecPace::Rejected(TimePoint now) {
  if (!is_taken_) return false;  // A run is due already, or under way.
  is_taken_ = false;
  const bool is_soon = now - succeeded_at_ < kRestMost;
  rejections_ = is_soon ? rejections_ + 1 : 1;
  due_ = std::min(due_, std::max(now, succeeded_at_ + Doubled(kRestLeast, rejections_, kRestMost)));
  return true;
}

}  // namespace kube

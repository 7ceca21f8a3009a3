#include "pkg/kube/client/exec_credentials.h"

#include <algorithm>
#include <utility>

namespace kube {
using base::MutexLock;
using std::chrono::nanoseconds, std::chrono::seconds;

// A wait ends after this time, because the clock may jump ahead when a machine wakes up.
constexpr nanoseconds kWaitMax = seconds(5);
constexpr nanoseconds kWaitLeast = std::chrono::microseconds(100);
// A longer life counts as this one, which fits into nanoseconds.
constexpr std::chrono::microseconds kLifeMax = std::chrono::hours(24 * 365);

// Renewed a tenth of its life before it expires: a run takes seconds, and may fail a few times.
constexpr nanoseconds kMarginLeast = seconds(10);
constexpr nanoseconds kMarginMost = std::chrono::minutes(5);
// Time between a success and the next run. Many plugins print the same credential until it has
// expired, so a run in its last seconds would be in vain.
constexpr base::BackoffPolicy kRest = {.first = seconds(5), .most = std::chrono::minutes(5)};
constexpr base::BackoffPolicy kRetry = {.first = seconds(1), .most = std::chrono::minutes(1)};

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
  if (!is_taken_) return false;  // A run is due already, or in progress.
  is_taken_ = false;
  if (now - succeeded_at_ >= kRest.most) rejections_.Reset();
  due_ = std::min(due_, std::max(now, succeeded_at_ + rejections_.Next(kRest)));
  return true;
}

ExecCredentials::ExecCredentials(const std::string& plugin, Run run, const base::Clock& clock,
                                 base::Logger& logger)
    : source_("exec " + plugin),
      run_(std::move(run)),
      clock_(clock),
      logger_(logger),
      schedule_(clock.Now()) {}

std::string ExecCredentials::BearerToken() {
  const MutexLock lock(mutex_);
  return credential_ ? credential_->token : "";
}

void ExecCredentials::Invalidate() {
  {
    const MutexLock lock(mutex_);
    if (!schedule_.Rejected(clock_.Now())) return;
    changed_cv_.notify_all();
  }
  logger_.Warning("The API server rejected the exec plugin's credentials, running it again");
}

void ExecCredentials::RunIfDue(const std::stop_token& stop) {
  {
    const MutexLock lock(mutex_);
    if (clock_.Now() < schedule_.due()) return;
  }
  base::Result<ExecCredential> result = run_(stop);
  if (!stop.stop_requested()) Take(std::move(result));
}

void ExecCredentials::Take(base::Result<ExecCredential> result) {
  std::string failed;  // To be logged.
  bool recovered = false;
  {
    const MutexLock lock(mutex_);
    const TimePoint now = clock_.Now();
    if (result) {
      recovered = credential_ && error_;
      error_.reset();
      credential_ = *std::move(result);
      expires_at_.reset();
      std::optional<nanoseconds> life;
      if (credential_->expires_at) {
        life = std::min(*credential_->expires_at - clock_.Wall(), kLifeMax);
        expires_at_ = now + *life;
      }
      schedule_.Succeeded(now, life);
    } else {
      // Before the first success, the caller that loads the configuration gets the error.
      if (credential_ && (!error_ || error_->message != result.error().message)) {
        failed = result.error().message;
      }
      error_ = std::move(result).error();
      schedule_.Failed(now);
    }
    changed_cv_.notify_all();
  }
  if (!failed.empty()) {
    logger_.Error("Exec plugin failed, will retry; its last credentials are used",
                  {{"err", failed}});
  }
  if (recovered) logger_.Info("The exec plugin printed credentials again");
}

void ExecCredentials::WaitUntilDue(const std::stop_token& stop) {
  // Before the lock, because the callback may run at once on this thread.
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_cv_.notify_all();
  });
  const MutexLock lock(mutex_);
  const nanoseconds left = schedule_.due() - clock_.Now();
  if (left.count() <= 0 || stop.stop_requested()) return;
  changed_cv_.wait_for(mutex_, std::clamp(left, kWaitLeast, kWaitMax));
}

base::Result<ExecCredential> ExecCredentials::FirstUntil(TimePoint until) const {
  const MutexLock lock(mutex_);
  while (!credential_ && !error_) {
    const nanoseconds left = until - clock_.Now();
    if (left.count() <= 0) break;
    changed_cv_.wait_for(mutex_, std::clamp(left, kWaitLeast, kWaitMax));
  }
  const bool is_good = credential_ && (!expires_at_ || clock_.Now() < *expires_at_);
  if (is_good) return *credential_;
  if (error_) return tl::unexpected(*error_);
  if (credential_) return *credential_;  // It has just expired, and a run is in progress.
  return base::Unavailable("has not answered yet, for which it is given a minute");
}

}  // namespace kube

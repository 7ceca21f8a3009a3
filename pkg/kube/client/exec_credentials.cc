#include "pkg/kube/client/exec_credentials.h"

#include <algorithm>
#include <utility>

namespace kube {
namespace {

using base::ErrorCode;
using base::Fail;
using base::MutexLock;
using base::Result;

// A wait ends after these, should the clock jump ahead, as it does when a machine wakes up.
constexpr std::chrono::nanoseconds kWaitMax = std::chrono::seconds(5);
constexpr std::chrono::nanoseconds kWaitLeast = std::chrono::microseconds(100);
// Longer is not told apart, and fits into nanoseconds.
constexpr std::chrono::microseconds kLifeMax = std::chrono::hours(24 * 365);

}  // namespace

ExecCredentials::ExecCredentials(const std::string& plugin, Run run, const base::Clock& clock,
                                 base::Logger& logger)
    : source_("exec " + plugin),
      run_(std::move(run)),
      clock_(clock),
      logger_(logger),
      pace_(clock.Now()) {}

std::string ExecCredentials::BearerToken() {
  const MutexLock lock(mutex_);
  return credential_ ? credential_->token : "";
}

void ExecCredentials::Invalidate() {
  {
    const MutexLock lock(mutex_);
    if (!pace_.Rejected(clock_.Now())) return;
    changed_cv_.notify_all();
  }
  logger_.Warning("The API server rejects what the exec plugin printed; it is run again");
}

void ExecCredentials::RunIfDue(const std::stop_token& stop) {
  {
    const MutexLock lock(mutex_);
    if (clock_.Now() < pace_.due()) return;
  }
  Result<ExecCredential> result = run_(stop);
  if (!stop.stop_requested()) Take(std::move(result));
}

void ExecCredentials::Take(Result<ExecCredential> result) {
  std::string failed;  // Is to be said.
  bool recovered = false;
  {
    const MutexLock lock(mutex_);
    const TimePoint now = clock_.Now();
    if (result) {
      recovered = credential_ && error_;
      error_.reset();
      credential_ = *std::move(result);
      expires_at_.reset();
      std::optional<std::chrono::nanoseconds> life;
      if (credential_->expires_at) {
        life = std::min(*credential_->expires_at - clock_.Wall(), kLifeMax);
        expires_at_ = now + *life;
      }
      pace_.Succeeded(now, life);
    } else {
      // Before the first success who loads the configuration is told.
      if (credential_ && (!error_ || error_->message != result.error().message)) {
        failed = result.error().message;
      }
      error_ = std::move(result).error();
      pace_.Failed(now);
    }
    changed_cv_.notify_all();
  }
  if (!failed.empty()) {
    logger_.Error(
        "The exec plugin fails and is tried again; what it printed last is used meanwhile",
        {{"err", failed}});
  }
  if (recovered) logger_.Info("The exec plugin has printed credentials again");
}

void ExecCredentials::WaitUntilDue(const std::stop_token& stop) {
  // Before the lock, because it may run at once, on this thread.
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_cv_.notify_all();
  });
  const MutexLock lock(mutex_);
  const std::chrono::nanoseconds left = pace_.due() - clock_.Now();
  if (left.count() <= 0 || stop.stop_requested()) return;
  changed_cv_.wait_for(mutex_, std::clamp(left, kWaitLeast, kWaitMax));
}

Result<ExecCredential> ExecCredentials::CurrentLocked() const {
  const bool is_good = credential_ && (!expires_at_ || clock_.Now() < *expires_at_);
  if (is_good) return *credential_;
  if (error_) return tl::unexpected(*error_);
  if (credential_) return *credential_;  // It has just expired, and a run is under way.
  return Fail(ErrorCode::kUnavailable, "has not answered yet, for which it is given a minute");
}

Result<ExecCredential> ExecCredentials::Current() const {
  const MutexLock lock(mutex_);
  return CurrentLocked();
}

Result<ExecCredential> ExecCredentials::FirstUntil(TimePoint until) const {
  const MutexLock lock(mutex_);
  while (!credential_ && !error_) {
    const std::chrono::nanoseconds left = until - clock_.Now();
    if (left.count() <= 0) break;
    changed_cv_.wait_for(mutex_, std::clamp(left, kWaitLeast, kWaitMax));
  }
  return CurrentLocked();
}

}  // namespace kube

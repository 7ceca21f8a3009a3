#include "pkg/kube/lease/leader_elector.h"

#include <algorithm>
#include <utility>

#include "pkg/base/backoff.h"
#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace kube {

namespace {

using base::ErrorCode, base::Invalid, base::Result;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr double kJitter = 0.2;
// After a write that loses a race, reads and writes at once. After another loss, waits.
constexpr int kAtOnceMax = 2;

std::string InSeconds(milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         "s";
}

}  // namespace

Result<void> Validate(const LeaseTiming& timing) {
  const std::string lease =
      "--leader-election-lease-duration (" + InSeconds(timing.lease_duration) + ")";
  const std::string renew =
      "--leader-election-renew-deadline (" + InSeconds(timing.renew_deadline) + ")";
  const std::string retry =
      "--leader-election-retry-period (" + InSeconds(timing.retry_period) + ")";
  if (timing.retry_period <= milliseconds(0)) {
    return Invalid(retry + " must be more than 0: the usual value is 2s");
  }
  if (timing.lease_duration < seconds(1)) {
    return Invalid(lease + " must be at least 1s: a Lease counts in seconds");
  }
  if (timing.lease_duration <= timing.renew_deadline) {
    return Invalid(lease + " must be longer than " + renew +
                   ": raise the first, or another replica takes over while this one still acts");
  }
  if (timing.renew_deadline * 5 <= timing.retry_period * 6) {
    return Invalid(renew + " must be longer than 1.2 times " + retry +
                   ": lower the second, or one lost request ends a term");
  }
  return {};
}

LeaderElector::LeaderElector(ObjectKey lease, std::string identity, LeaseTiming timing,
                             const base::Clock& clock, base::Random& random, base::Logger& logger)
    : lease_(std::move(lease)),
      identity_(std::move(identity)),
      timing_(timing),
      clock_(clock),
      random_(random),
      logger_(logger) {
  CHECK(Validate(timing_));
}

bool LeaderElector::IsLeader() const {
  return clock_.Now().time_since_epoch().count() < may_act_until_.load();
}

LeaderElector::Next LeaderElector::Poll() {
  const TimePoint now = clock_.Now();
  if (TermEnded() && !released_ && !std::exchange(end_logged_, true)) {
    logger_.Error("The term is over, because the Lease was not renewed in time",
                  {{"lease", ToString(lease_)}, {"identity", identity_}});
  }
  if (under_way_ || released_ || TermEnded()) return {.until = now + timing_.retry_period};
  if (!at_once_) {
    if (now < next_attempt_) return {.until = next_attempt_};
    at_once_count_ = 0;
    next_attempt_ = now + Period();
  }
  return {.request = Start(now)};
}

http::Request LeaderElector::Start(TimePoint now) {
  under_way_ = true;
  at_once_ = false;
  sent_at_ = now;
  http::Request request;
  switch (next_) {
    case Request::kRead:
      request = GetRequest(kLeases, lease_);
      break;
    case Request::kCreate:
      request = CreateRequest(kLeases, lease_.ns, Written(Ours()));
      break;
    case Request::kUpdate:
      // Without a version it would overwrite the current leader.
      CHECK(!object_.IsNull());
      request = UpdateRequest(kLeases, lease_, Written(Ours()));
      break;
  }
  request.timeout = timing_.retry_period;
  return request;
}

void LeaderElector::OnReply(const Result<http::Response>& reply) {
  if (!std::exchange(under_way_, false) || released_) return;
  if (next_ == Request::kRead) {
    OnRead(CheckStatus(reply, http::Method::kGet));
    return;
  }
  const Result<http::Response> checked = CheckStatus(reply, http::Method::kPut);
  if (checked) {
    OnWritten(*checked);
  } else {
    OnWriteError(checked.error());
  }
}

void LeaderElector::OnRead(const Result<http::Response>& reply) {
  const Result<void> observed = reply ? Observe(*reply) : tl::unexpected(reply.error());
  if (!observed && !ProvesAbsence(observed.error(), kLeases, lease_.name)) {
    ReportFailure(Request::kRead, observed.error());
    return;
  }
  if (!observed) Forget();
  Decide();
}

void LeaderElector::Decide() {
  const bool exists = !object_.IsNull();
  const bool ours = exists && record_.holder == identity_;
  if (term_began_ && exists && !ours) {
    LoseTerm();
    return;
  }
  if (!term_began_ && !ours && OthersMayAct()) {
    next_ = Request::kRead;
    // Not later than the end of the holder's duration.
    next_attempt_ = std::min(next_attempt_, record_seen_ + OthersDuration());
    ReportSuccess();
    return;
  }
  SendAtOnce(exists ? Request::kUpdate : Request::kCreate);
}

void LeaderElector::OnWritten(const http::Response& reply) {
  const Result<void> observed = Observe(reply);
  if (!observed) {
    next_ = Request::kRead;  // The Lease may be ours. The next read shows it.
    ReportFailure(Request::kUpdate, observed.error());
    return;
  }
  next_ = Request::kUpdate;
  if (record_.holder == identity_) {
    Extend();
    ReportSuccess();
  } else {
    Decide();  // A webhook, for example, has changed it.
  }
}

void LeaderElector::OnWriteError(const base::Error& error) {
  const Request failed = next_;
  switch (error.code) {
    case ErrorCode::kConflict:
    case ErrorCode::kAlreadyExists:
      SendAtOnce(Request::kRead);
      return;
    case ErrorCode::kNotFound:
      if (failed == Request::kUpdate && ProvesAbsence(error, kLeases, lease_.name)) {
        Forget();
        Decide();
        return;
      }
      break;  // The namespace is missing.
    case ErrorCode::kUnavailable:
    case ErrorCode::kTooManyRequests:
      if (term_began_) {  // Nothing was done, so send the same again.
        ReportFailure(failed, error);
        return;
      }
      break;
    default:
      break;
  }
  next_ = Request::kRead;  // The Lease may have changed, also by an own write without a reply.
  ReportFailure(failed, error);
}

Result<void> LeaderElector::Observe(const http::Response& reply) {
  json::Value object = TRY(json::Parse(reply.body).map_error(base::While("read the Lease")));
  const json::Value& spec = std::as_const(object)["spec"];
  const json::Value& meta = std::as_const(object)["metadata"];
  Record record = {.uid = meta["uid"].AsString(),
                   .holder = spec["holderIdentity"].AsString(),
                   .acquire_time = spec["acquireTime"].AsString(),
                   .renew_time = spec["renewTime"].AsString(),
                   .duration_seconds = spec["leaseDurationSeconds"].AsInt().value_or(0),
                   .transitions = spec["leaseTransitions"].AsInt().value_or(0)};
  if (meta["resourceVersion"].AsString().empty()) {
    return base::Unavailable("read the Lease: it has no resourceVersion");
  }
  if (!(record == record_) || record_seen_ == TimePoint::min()) {
    if (record.holder != record_.holder && record.holder != identity_ && !record.holder.empty()) {
      logger_.Info("Another replica leads",
                   {{"lease", ToString(lease_)}, {"holder", record.holder}});
    }
    record_ = std::move(record);
    record_seen_ = clock_.Now();
  }
  object_ = std::move(object);
  return {};
}

// Keeps the record: the holder may still act, because it does not know yet.
void LeaderElector::Forget() { object_ = json::Value(); }

bool LeaderElector::OthersMayAct() const {
  return !record_.holder.empty() && record_.holder != identity_ &&
         clock_.Now() < record_seen_ + OthersDuration();
}

// Returns the holder's own duration, but at least that of this process. An edit must not make it
// take over from a leader that follows its configuration.
std::chrono::nanoseconds LeaderElector::OthersDuration() const {
  constexpr std::int64_t kMost = seconds(std::chrono::hours(24)).count();  // Prevents overflow.
  return std::max<std::chrono::nanoseconds>(
      seconds(std::clamp<std::int64_t>(record_.duration_seconds, 0, kMost)),
      timing_.lease_duration);
}

void LeaderElector::SendAtOnce(Request request) {
  next_ = request;
  if (at_once_count_ == kAtOnceMax) {
    next_ = Request::kRead;
    return;
  }
  ++at_once_count_;
  at_once_ = true;
}

void LeaderElector::Extend() {
  const TimePoint until = sent_at_ + timing_.renew_deadline;
  if (TermEnded()) return;            // A term that has ended stays ended.
  if (clock_.Now() >= until) return;  // The reply took so long that the term would be over.
  may_act_until_.store(until.time_since_epoch().count());
  // After the store, or the term would look ended to other threads for a moment.
  if (!term_began_.exchange(true)) {
    logger_.Info("Leading", {{"lease", ToString(lease_)}, {"identity", identity_}});
  }
}

void LeaderElector::LoseTerm() {
  may_act_until_.store(std::numeric_limits<std::int64_t>::min());
  end_logged_ = true;
  logger_.Error("The term is over, because another replica holds the Lease",
                {{"lease", ToString(lease_)}, {"identity", identity_}, {"holder", record_.holder}});
}

std::optional<http::Request> LeaderElector::Release() {
  released_ = true;
  may_act_until_.store(std::numeric_limits<std::int64_t>::min());
  if (object_.IsNull() || record_.holder != identity_) return std::nullopt;
  Record record = Ours();
  record.holder.clear();
  record.duration_seconds = 1;  // The least that the API allows.
  http::Request request = UpdateRequest(kLeases, lease_, Written(record));
  request.timeout = timing_.retry_period;
  return request;
}

// Returns the record that acquires or keeps the Lease.
LeaderElector::Record LeaderElector::Ours() const {
  Record record = record_;
  const std::string now = base::FormatMicros(clock_.Wall());
  if (record.holder != identity_) {
    record.acquire_time = now;
    // The creation of a Lease is not a transition.
    if (!record.uid.empty()) ++record.transitions;
  }
  record.holder = identity_;
  record.renew_time = now;
  record.duration_seconds =
      std::chrono::duration_cast<seconds>(timing_.lease_duration + milliseconds(999)).count();
  return record;
}

json::Value LeaderElector::Written(const Record& record) const {
  json::Value object = object_;
  if (object.IsNull()) {
    object = json::Value::Object(
        {{"apiVersion", kLeases.ApiVersion()},
         {"kind", kLeases.kind},
         {"metadata", json::Value::Object({{"name", lease_.name}, {"namespace", lease_.ns}})}});
  }
  json::Value& spec = object["spec"];
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_seconds;
  spec["acquireTime"] = record.acquire_time;
  spec["renewTime"] = record.renew_time;
  spec["leaseTransitions"] = record.transitions;
  return object;
}

std::chrono::nanoseconds LeaderElector::Period() {
  return base::Jittered(timing_.retry_period, term_began_ ? kJitter : -kJitter, random_);
}

void LeaderElector::ReportFailure(Request request, const base::Error& error) {
  if (!term_began_ && error.retry_after) {
    next_attempt_ = std::max(next_attempt_, clock_.Now() + *error.retry_after);
  }
  // An unreachable server gives different codes for reads and writes.
  const bool away =
      error.code == ErrorCode::kUnknownOutcome || error.code == ErrorCode::kDeadlineExceeded;
  const ErrorCode code = away ? ErrorCode::kUnavailable : error.code;
  if (reported_ == code) return;
  reported_ = code;
  std::string message = error.message;
  if (error.code == ErrorCode::kForbidden) {
    const std::string verb = request == Request::kRead     ? "get"
                             : request == Request::kCreate ? "create"
                                                           : "update";
    message = "grant " + verb + " on " + kLeases.QualifiedName() + " in namespace " + lease_.ns +
              " to this identity (" + message + ")";
  }
  logger_.Warning("Cannot read or write the Lease",
                  {{"lease", ToString(lease_)}, {"err", message}});
}

void LeaderElector::ReportSuccess() {
  if (!std::exchange(reported_, std::nullopt)) return;
  logger_.Info("Lease can be read and written again", {{"lease", ToString(lease_)}});
}

}  // namespace kube

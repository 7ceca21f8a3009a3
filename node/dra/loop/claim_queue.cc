#include "node/dra/loop/claim_queue.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/dra/rules/claim.h"
#include "pkg/json/utf8.h"

namespace dra {

namespace {

using base::Result;

constexpr std::chrono::milliseconds kLockPause{20};
constexpr std::chrono::seconds kLookPeriod{5};
constexpr std::chrono::minutes kLookAfterFailure{1};
constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::milliseconds(100),
                                          .most = std::chrono::seconds(2)};
// More steps than a rule ever returns in a row.
constexpr int kStepsMax = 32;

std::string ShownOf(const kubelet::ClaimName& claim) { return claim.ns + "/" + claim.name; }

}  // namespace

BatchCall::BatchCall(std::size_t claims, std::stop_token token, kubelet::Done answer,
                     std::function<void()> wake)
    : open(claims),
      done(std::move(answer)),
      cancelled(std::move(token)),
      on_cancel(cancelled, std::move(wake)) {}

void ClaimCall::Ended(const Result<void>& ended) {
  asking = false;
  if (!ended) {
    error = ended.error();
    return;
  }
  failed.clear();
  backoff.Reset();
}

ClaimCall& ClaimQueue::Open(ClaimCall call) {
  call.since = clock_.Now();
  call.called = clock_.Wall();
  ClaimCall& opened = calls_.emplace_back(std::move(call));
  opened.work = driver_.Begin(opened);
  return opened;
}

void ClaimQueue::Add(Operation operation, const std::vector<kubelet::ClaimName>& claims,
                     std::stop_token cancelled, kubelet::Done done) {
  if (claims.empty()) return done({});
  const auto batch =
      std::make_shared<BatchCall>(claims.size(), std::move(cancelled), std::move(done), wake_);
  for (const kubelet::ClaimName& claim : claims) {
    metrics_.Began(operation);
    for (ClaimCall& earlier : calls_) {
      const bool is_opposite = earlier.name.uid == claim.uid && earlier.operation != operation;
      earlier.is_overtaken = earlier.is_overtaken || is_opposite;
    }
    ClaimCall& call = Open({.operation = operation, .name = claim, .batch = batch});
    if (!cdi::IsFileSafe(claim.uid) || claim.name.empty() || claim.ns.empty()) {
      Answer(call, {.error = "the claim has no UID, name and namespace"});
    }
  }
}

TimePoint ClaimQueue::Turn() {
  TimePoint until = checkpoint_.HasClaims() ? look_next_ : TimePoint::max();
  const std::uint64_t saves = checkpoint_.saves();
  driver_.BeginTurn();
  for (ClaimCall& call : calls_) {
    if (!call.is_answered) until = std::min(until, Advance(call));
  }
  std::erase_if(calls_, [](const ClaimCall& call) { return call.is_answered && !call.asking; });
  return checkpoint_.saves() == saves ? until : clock_.Now();
}

bool ClaimQueue::Prepares() const {
  return std::ranges::any_of(
      calls_, [](const ClaimCall& call) { return call.prepares() && !call.is_answered; });
}

void ClaimQueue::RestoreLost() {
  const TimePoint now = clock_.Now();
  if (now < look_next_) return;
  look_next_ = now + kLookPeriod;
  // As it is now: an older instance may write it, too.
  if (auto locked = checkpoint_.Lock(); !locked) return;
  checkpoint_.Unlock();
  for (kubelet::ClaimName& claim : driver_.FindLost()) {
    const bool is_asked = std::ranges::any_of(
        calls_, [&](const ClaimCall& call) { return call.name.uid == claim.uid; });
    if (is_asked) continue;
    Open({.name = std::move(claim),
          .batch = std::make_shared<BatchCall>(
              1, std::stop_token(), [](const kubelet::Answers&) {}, [] {}),
          .restores = true});
  }
}

void ClaimQueue::AnswerAll(const std::string& error) {
  for (ClaimCall& call : calls_) {
    if (!call.is_answered) Answer(call, {.error = error});
  }
}

TimePoint ClaimQueue::Advance(ClaimCall& call) {
  const TimePoint deadline = call.since + kAnswerAfter;
  for (int i = 0; i < kStepsMax; ++i) {
    if (const auto error = std::exchange(call.error, std::nullopt)) Fail(call, *error);
    if (!call.refused.empty()) {
      Answer(call, {.error = call.refused});
      return TimePoint::max();
    }
    const TimePoint now = clock_.Now();
    if (now >= deadline && (call.asking || now < call.next)) {
      const std::string& why = call.failed.empty() ? call.logged_reason : call.failed;
      Answer(call, {.error = why.empty() ? "the API server is slow" : why});
      return TimePoint::max();
    }
    if (call.asking) return deadline;
    if (now < call.next && !call.is_withdrawn()) return std::min(call.next, deadline);
    if (auto locked = checkpoint_.Lock(); !locked) {
      call.next = now + kLockPause;
      call.failed = locked.error().message;
      continue;
    }
    const Result<StepResult> step = call.work->Step();
    checkpoint_.Unlock();
    if (!step) {
      Fail(call, step.error());
      continue;
    }
    if (const auto* answer = std::get_if<AnswerCall>(&*step)) {
      Answer(call, *answer);
      return TimePoint::max();
    }
    const auto* wait = std::get_if<WaitUntil>(&*step);
    if (wait == nullptr) continue;
    const bool is_news = std::exchange(call.logged_reason, wait->reason) != wait->reason;
    // While a request is in flight, the reason may be over soon: do not log it.
    if (call.asking) return deadline;
    if (is_news) {
      logger_.Info("Claim waits", {{"claim", ShownOf(call.name)}, {"for", call.logged_reason}});
    }
    return std::min(wait->until, deadline);
  }
  return clock_.Now() + kLockPause;
}

void ClaimQueue::Fail(ClaimCall& call, const base::Error& error) {
  const std::string before = std::exchange(call.failed, json::OneLine(error.message, 1000));
  const std::chrono::nanoseconds least = error.retry_after.value_or(std::chrono::seconds(0));
  call.next = clock_.Now() + std::max(call.backoff.Next(kBackoff), least);
  // The kubelet gets the error at the deadline.
  logger_.Log(before == call.failed ? base::LogLevel::kObjects : base::LogLevel::kInfo,
              "Processing a claim failed, will retry",
              {{"claim", ShownOf(call.name)}, {"err", call.failed}});
}

void ClaimQueue::Answer(ClaimCall& call, const AnswerCall& answer) {
  call.is_answered = true;
  const bool done = answer.error.empty();
  LogAnswer(call, answer);
  if (call.restores) {
    if (!done && !call.is_withdrawn()) look_next_ = clock_.Now() + kLookAfterFailure;
    call.batch.reset();
    return;
  }
  metrics_.Ended(call.operation, done, clock_.Now() - call.since);
  has_unprepared_ = has_unprepared_ || (!call.prepares() && done);
  const auto batch = std::exchange(call.batch, nullptr);
  kubelet::Answer to_kubelet = {.devices = answer.devices, .error = answer.error};
  if (!done) {  // Begins as the error of NVIDIA's plugin does. It is in the pod's Event.
    to_kubelet.error = std::string("error ") + (call.prepares() ? "preparing" : "unpreparing") +
                       " devices for claim " + ShownOf(call.name) + ":" + call.name.uid + ": " +
                       answer.error;
  }
  batch->answers[call.name.uid] = std::move(to_kubelet);
  if (--batch->open == 0) batch->done(batch->answers);
}

void ClaimQueue::LogAnswer(const ClaimCall& call, const AnswerCall& answer) {
  const bool done = answer.error.empty();
  const auto on_error = call.is_withdrawn() ? base::LogLevel::kInfo : base::LogLevel::kError;
  const auto level = done ? base::LogLevel::kInfo : on_error;
  const std::string claim = ShownOf(call.name);
  if (call.restores) {
    logger_.Log(level,
                done ? "Restored the files of a claim" : "Restoring the files of a claim failed",
                {{"claim", claim}, {"uid", call.name.uid}, {"err", answer.error}});
  } else if (done && !answer.log.empty()) {
    logger_.Info(answer.log);
  } else if (done) {
    logger_.Info(call.prepares() ? "Prepared a claim" : "Unprepared a claim",
                 {{"claim", claim}, {"uid", call.name.uid}});
  } else {
    logger_.Log(level, call.prepares() ? "Preparing a claim failed" : "Unpreparing a claim failed",
                {{"claim", claim},
                 {"uid", call.name.uid},
                 {"err", answer.error},
                 {"retry", answer.is_permanent ? "Permanent error, it will not help" : ""}});
  }
}

}  // namespace dra

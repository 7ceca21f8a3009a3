#include "node/plugin/loop/claim_queue.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/api/api_calls.h"
#include "pkg/base/overload.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using base::Result;

constexpr std::chrono::milliseconds kLockPause{20};
// Covers the time in which a StatefulSet or a Job replaces a pod on its node.
constexpr std::chrono::seconds kLabelKept{5};
constexpr std::chrono::seconds kLookPeriod{5};
constexpr std::chrono::minutes kLookAfterFailure{1};
constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::milliseconds(100),
                                          .most = std::chrono::seconds(2)};
// More steps than the rule ever returns in a row.
constexpr int kStepsMax = 32;

kubelet::Device DeviceOf(const PreparedDevice& device) {
  return {.requests = device.requests,
          .pool = device.pool,
          .name = device.name,
          .cdi_ids = device.cdi_ids};
}

kubelet::Answer AnswerOf(const AnswerKubelet& step) {
  kubelet::Answer answer = {.error = step.error};
  for (const PreparedGroup& group : step.groups) {
    for (const PreparedDevice& device : group.devices) answer.devices.push_back(DeviceOf(device));
  }
  return answer;
}

}  // namespace

ClaimQueue::BatchCall::BatchCall(std::size_t claims, std::stop_token token, kubelet::Done answer,
                                 std::function<void()> wake)
    : open(claims),
      done(std::move(answer)),
      cancelled(std::move(token)),
      on_cancel(cancelled, std::move(wake)) {}

void ClaimQueue::Add(Operation operation, const std::vector<kubelet::ClaimName>& claims,
                     std::stop_token cancelled, kubelet::Done done) {
  if (claims.empty()) return done({});
  const auto batch =
      std::make_shared<BatchCall>(claims.size(), std::move(cancelled), std::move(done), wake_);
  const TimePoint now = state_.clock.Now();
  for (const kubelet::ClaimName& claim : claims) {
    state_.metrics.Began(operation);
    for (ClaimRequest& earlier : requests_) {
      const bool is_opposite = earlier.name.uid == claim.uid && earlier.operation != operation;
      earlier.is_overtaken = earlier.is_overtaken || is_opposite;
    }
    ClaimRequest& request = requests_.emplace_back(ClaimRequest{.operation = operation,
                                                                .name = claim,
                                                                .batch = batch,
                                                                .since = now,
                                                                .called = state_.clock.Wall()});
    const auto& noted = state_.checkpoint_file.checkpoint().claims;
    const auto entry = noted.find(claim.uid);
    request.was_aborted = entry != noted.end() && entry->second.state == ClaimState::kAborted;
    if (!cdi::IsFileSafe(claim.uid) || claim.name.empty() || claim.ns.empty()) {
      Answer(request, {.error = "the claim has no UID, name and namespace"});
    }
  }
}

TimePoint ClaimQueue::Turn() {
  const bool has_claims = !state_.checkpoint_file.checkpoint().claims.empty();
  TimePoint until = has_claims ? look_next_ : TimePoint::max();
  const std::uint64_t saves = state_.checkpoint_file.saves();
  readiness_.BeginTurn();
  files_.clear();
  for (ClaimRequest& request : requests_) {
    if (!request.is_answered) until = std::min(until, Advance(request));
  }
  std::erase_if(requests_,
                [](const ClaimRequest& request) { return request.is_answered && !request.asking; });
  return state_.checkpoint_file.saves() == saves ? until : state_.clock.Now();
}

bool ClaimQueue::Prepares() const {
  return std::ranges::any_of(requests_, [](const ClaimRequest& request) {
    return request.operation == Operation::kPrepare && !request.is_answered;
  });
}

void ClaimQueue::RestoreLost() {
  const TimePoint now = state_.clock.Now();
  if (now < look_next_) return;
  look_next_ = now + kLookPeriod;
  // As it is now: an older instance may write it, too.
  if (auto locked = state_.checkpoint_file.Lock(); !locked) return;
  state_.checkpoint_file.Unlock();
  if (state_.instances.is_superseded() || state_.is_rebuilding()) return;
  for (const auto& [uid, entry] : state_.checkpoint_file.checkpoint().claims) {
    const bool is_asked = std::ranges::any_of(
        requests_, [&](const ClaimRequest& request) { return request.name.uid == uid; });
    if (is_asked || !HasLost(uid, entry)) continue;
    requests_.push_back({.operation = Operation::kPrepare,
                         .name = {.ns = entry.ns, .uid = uid, .name = entry.name},
                         .batch = std::make_shared<BatchCall>(
                             1, std::stop_token(), [](const kubelet::Answers&) {}, [] {}),
                         .since = now,
                         .called = state_.clock.Wall(),
                         .restores = true});
  }
}

bool ClaimQueue::HasLost(const std::string& uid, const CheckpointClaim& entry) const {
  const bool is_known = cdi::IsFileSafe(uid) && !entry.name.empty() && !entry.ns.empty();
  if (entry.state != ClaimState::kCompleted || !is_known) return false;
  if (NamesCdiDevices(entry) && !state_.disk.HasSpec(uid)) return true;
  const auto use = UseOf(entry);
  return use && use->type == DeviceType::kDaemon && IsUid(use->domain) &&
         !state_.disk.HasFolder(use->domain);
}

void ClaimQueue::AnswerAll(const std::string& error) {
  for (ClaimRequest& request : requests_) {
    if (!request.is_answered) Answer(request, {.error = error});
  }
}

TimePoint ClaimQueue::Advance(ClaimRequest& request) {
  const TimePoint deadline = request.since + kAnswerAfter;
  for (int i = 0; i < kStepsMax; ++i) {
    const TimePoint now = state_.clock.Now();
    if (now >= deadline && (request.asking || now < request.next)) {
      const std::string& why = request.failed.empty() ? request.logged_reason : request.failed;
      Answer(request, {.error = why.empty() ? "the API server is slow" : why});
      return TimePoint::max();
    }
    if (request.asking) return deadline;
    if (now < request.next && !request.is_withdrawn()) return std::min(request.next, deadline);
    if (auto locked = state_.checkpoint_file.Lock(); !locked) {
      request.next = now + kLockPause;
      request.failed = locked.error().message;
      continue;
    }
    const NodeObservation observed = Observe(request);
    ClaimStep step = Decide(request, observed);
    const Result<void> done = Execute(request, step);
    state_.checkpoint_file.Unlock();
    if (!std::holds_alternative<WaitForChange>(step)) files_.clear();
    if (!done) {
      Fail(request, done.error());
      continue;
    }
    if (std::holds_alternative<FetchClaim>(step)) {
      const std::string why = request.failed.empty() ? "" : ": " + request.failed;
      step = WaitFor(observed, "the claim cannot be read" + why);
    }
    if (const auto* answer = std::get_if<AnswerKubelet>(&step)) {
      Answer(request, *answer);
      return TimePoint::max();
    }
    const auto* wait = std::get_if<WaitForChange>(&step);
    if (wait == nullptr) continue;
    FetchMissing(request, observed);
    const bool is_news = std::exchange(request.logged_reason, wait->reason) != wait->reason;
    // While a request is in flight, the reason may be over soon: do not log it.
    if (request.asking) return deadline;
    if (is_news) {
      state_.logger.Info("Claim waits", {{"claim", request.name.ns + "/" + request.name.name},
                                         {"for", request.logged_reason}});
    }
    return std::min({wait->until, deadline, readiness_.requeue_at()});
  }
  return state_.clock.Now() + kLockPause;
}

ClaimStep ClaimQueue::Decide(const ClaimRequest& request, const NodeObservation& observed) const {
  const std::string& uid = request.name.uid;
  const Checkpoint& checkpoint = state_.checkpoint_file.checkpoint();
  if (request.operation == Operation::kUnprepare) {
    return state_.rules.unprepare(state_.host.self, uid, checkpoint, observed);
  }
  return state_.rules.prepare(state_.host.self, uid, request.claim ? &*request.claim : nullptr,
                              checkpoint, observed);
}

bool ClaimQueue::KeepsLabel(const ClaimRequest& request) const {
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto it = claims.find(request.name.uid);
  const auto use = it == claims.end() ? std::nullopt : UseOf(it->second);
  const bool has_label = use && use->type == DeviceType::kChannel && state_.node.node() &&
                         state_.node.node()->domain == use->domain;
  // A younger instance may have prepared another claim of the domain since. It removes the label
  // itself when no claim needs it.
  return has_label && (state_.IsAlive(use->domain) || state_.instances.is_superseded());
}

NodeObservation ClaimQueue::Observe(const ClaimRequest& request) {
  NodeObservation observed = {.no_host = state_.host.host ? "" : state_.host.trouble,
                              .other_driver = state_.host.other_driver,
                              .is_restore = request.restores,
                              .node_read = state_.node.MayChange(),
                              .has_elder = state_.instances.has_elder(),
                              .is_withdrawn = request.is_withdrawn(),
                              .called = request.called,
                              .since = request.since,
                              .now = state_.clock.Now()};
  if (state_.is_rebuilding()) {
    observed.rebuilding =
        "the checkpoint is rebuilt from claims: " + state_.checkpoint_file.resumed().why;
    return observed;
  }
  observed.keeps_label = request.operation == Operation::kUnprepare && KeepsLabel(request);
  if (observed.node_read) observed.node_domain = state_.node.node()->domain;
  const FilesSeen& files = FilesOf(request);
  observed.has_spec = files.has_spec;
  observed.spec = files.spec;
  observed.has_folder = files.has_folder;
  observed.has_driver_spec = state_.host.has_driver_spec;
  const Wanted* wanted = request.wanted();
  if (wanted == nullptr || state_.api == nullptr) return observed;
  const std::string& domain = wanted->config.domain;
  if (const auto known = state_.api->domains().Find(domain)) {
    observed.domain = known->domain;
  } else {
    observed.domain_gone = request.domain_gone;
  }
  observed.is_ready = NeedsReadiness(request, observed) && readiness_.IsReady(domain);
  return observed;
}

const ClaimQueue::FilesSeen& ClaimQueue::FilesOf(const ClaimRequest& request) {
  const auto [seen, is_new] = files_.try_emplace(request.name.uid);
  FilesSeen& files = seen->second;
  if (!is_new) return files;
  const auto spec = state_.disk.ReadSpec(request.name.uid);
  // An unreadable file exists, and must be replaced.
  files.has_spec = !spec || *spec;
  if (spec) files.spec = *spec;
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto it = claims.find(request.name.uid);
  auto use = it == claims.end() ? std::nullopt : UseOf(it->second);
  if (const Wanted* wanted = request.wanted()) use = wanted->config;
  const bool is_daemon = use && use->type == DeviceType::kDaemon && IsUid(use->domain);
  files.has_folder = is_daemon && state_.disk.HasFolder(use->domain);
  return files;
}

bool ClaimQueue::NeedsReadiness(const ClaimRequest& request,
                                const NodeObservation& observed) const {
  const Wanted& wanted = *request.wanted();
  const bool is_its_node =
      state_.host.self.host_managed || observed.node_domain == wanted.config.domain;
  return wanted.name.type == DeviceType::kChannel && is_its_node && state_.host.host;
}

void ClaimQueue::FetchMissing(ClaimRequest& request, const NodeObservation& observed) {
  const Wanted* wanted = request.wanted();
  if (wanted == nullptr || wanted->name.type != DeviceType::kChannel) return;
  if (state_.api == nullptr) return;
  const std::string& domain = wanted->config.domain;
  const bool is_unknown = !observed.domain && state_.api->domains().has_read();
  if (is_unknown && !std::exchange(request.domain_asked, true)) FetchDomain(request, domain);
  if (NeedsReadiness(request, observed)) readiness_.Fetch(domain);
}

void ClaimQueue::FetchClaimOf(ClaimRequest& request) {
  // The served version of claims is known once the slices are read.
  if (state_.api == nullptr || !state_.api->slices()) return;
  request.asking = true;
  const dra::SliceApi version = state_.api->dra_version();
  const kube::ObjectKey key = {.ns = request.name.ns, .name = request.name.name};
  state_.api->Enqueue(PluginApi::Queue::kClaims, [this, &request, version,
                                                  key](http::Transport& transport) {
    auto claim = dra::ReadClaim<Wanted>(transport, version, key, request.name.uid);
    return [this, &request, claim = std::move(claim)] {
      request.asking = false;
      if (claim) {
        request.claim = *claim;
        request.failed.clear();
        return;
      }
      const auto code = claim.error().code;
      const bool is_final = code == base::ErrorCode::kNotFound || code == base::ErrorCode::kInvalid;
      if (!is_final) return Fail(request, claim.error());
      if (!request.is_answered) Answer(request, {.error = claim.error().message});
    };
  });
}

// A channel's domain is in the namespace of its claim. A deleted domain never returns, because its
// UID was assigned when it was created.
void ClaimQueue::FetchDomain(ClaimRequest& request, const std::string& domain) {
  request.asking = true;
  state_.api->Enqueue(PluginApi::Queue::kReads,
                      [&request, domain, ns = request.name.ns](http::Transport& transport) {
                        const auto found = ReadDomains(transport, ns);
                        return [&request, domain, found] {
                          request.asking = false;
                          request.domain_gone = found && !found->contains(domain);
                        };
                      });
}

Result<void> ClaimQueue::Execute(ClaimRequest& request, const ClaimStep& step) {
  const std::string& uid = request.name.uid;
  const auto save = [&](const auto& change) {
    Checkpoint next = state_.checkpoint_file.checkpoint();
    change(next.claims);
    return state_.Save(std::move(next));
  };
  return std::visit(
      base::Overload{
          [&](const LabelNode& label) { return ChangeLabel(request, {.to = label.domain}); },
          [&](const UnlabelNode& label) { return ChangeLabel(request, {.from = label.domain}); },
          [&](const CreateDomainFolder& create) { return state_.disk.MakeFolder(create.domain); },
          [&](const WriteSpec& write) { return state_.disk.WriteSpec(uid, write.spec); },
          [&](const RemoveSpec&) { return state_.disk.RemoveSpec(uid); },
          [&](const FetchClaim&) {
            FetchClaimOf(request);
            return Result<void>();
          },
          [&](const RemoveFromCheckpoint& removed) -> Result<void> {
            TRY(save([&](auto& claims) { claims.erase(uid); }));
            if (removed.keeps_label) state_.node.KeepLabelUntil(state_.clock.Now() + kLabelKept);
            return {};
          },
          [&](const CheckpointStarted&) {
            return save([&](auto& claims) { claims[uid] = StartedClaim(*request.claim); });
          },
          [&](const CheckpointCompleted& completed) {
            return save([&](auto& claims) {
              claims[uid].state = ClaimState::kCompleted;
              claims[uid].groups = completed.groups;
            });
          },
          [&](const CheckpointAborted& aborted) -> Result<void> {
            TRY(save([&](auto& claims) {
              CheckpointClaim& entry = claims[uid];
              entry.name = request.name.name;
              entry.ns = request.name.ns;
              Abort(entry, aborted, state_.clock.Wall());
            }));
            if (aborted.keeps_label) state_.node.KeepLabelUntil(state_.clock.Now() + kLabelKept);
            // In the words of NVIDIA's plugin, by which tools look for it. So are other lines with
            // the claim in the sentence.
            state_.logger.Info("Marked claim PrepareAborted in checkpoint: " + request.name.ns +
                               "/" + request.name.name);
            return {};
          },
          [](const auto&) { return Result<void>(); },
      },
      step);
}

Result<void> ClaimQueue::ChangeLabel(ClaimRequest& request, LabelChange change) {
  request.asking = true;
  state_.node.ChangeLabel(*state_.api, std::move(change),
                          [this, &request](const Result<void>& changed) {
                            request.asking = false;
                            if (!changed) return Fail(request, changed.error());
                            request.failed.clear();
                            request.backoff.Reset();
                          });
  return {};
}

void ClaimQueue::Fail(ClaimRequest& request, const base::Error& error) {
  const std::string before = std::exchange(request.failed, json::OneLine(error.message, 1000));
  const std::chrono::nanoseconds least = error.retry_after.value_or(std::chrono::seconds(0));
  request.next = state_.clock.Now() + std::max(request.backoff.Next(kBackoff), least);
  // The kubelet gets the error at the deadline.
  state_.logger.Log(
      before == request.failed ? base::LogLevel::kObjects : base::LogLevel::kInfo,
      "Processing a claim failed, will retry",
      {{"claim", request.name.ns + "/" + request.name.name}, {"err", request.failed}});
}

void ClaimQueue::Answer(ClaimRequest& request, const AnswerKubelet& answer) {
  request.is_answered = true;
  const bool prepares = request.operation == Operation::kPrepare;
  const bool done = answer.error.empty();
  const auto level = request.is_withdrawn() ? base::LogLevel::kInfo : base::LogLevel::kError;
  const std::string claim = request.name.ns + "/" + request.name.name;
  if (request.restores) {
    if (!done && !request.is_withdrawn()) look_next_ = state_.clock.Now() + kLookAfterFailure;
    state_.logger.Log(
        done ? base::LogLevel::kInfo : level,
        done ? "Restored the files of a claim" : "Restoring the files of a claim failed",
        {{"claim", claim}, {"uid", request.name.uid}, {"err", answer.error}});
    request.batch.reset();
    return;
  }
  if (done && !prepares && request.was_aborted) {
    state_.logger.Info("Unprepare noop: claim in PrepareAborted state: " + claim);
  } else if (done) {
    state_.logger.Info(prepares ? "Prepared a claim" : "Unprepared a claim",
                       {{"claim", claim}, {"uid", request.name.uid}});
  } else {
    state_.logger.Log(level, prepares ? "Preparing a claim failed" : "Unpreparing a claim failed",
                      {{"claim", claim},
                       {"uid", request.name.uid},
                       {"err", answer.error},
                       {"retry", answer.is_permanent ? "Permanent error, it will not help" : ""}});
  }
  state_.metrics.Ended(request.operation, done, state_.clock.Now() - request.since);
  has_unprepared_ = has_unprepared_ || (!prepares && done);
  const auto batch = std::exchange(request.batch, nullptr);
  kubelet::Answer to_kubelet = prepares ? AnswerOf(answer) : kubelet::Answer{.error = answer.error};
  if (!done) {  // Begins as the error of NVIDIA's plugin does. It is in the pod's Event.
    to_kubelet.error = std::string("error ") + (prepares ? "preparing" : "unpreparing") +
                       " devices for claim " + claim + ":" + request.name.uid + ": " + answer.error;
  }
  batch->answers[request.name.uid] = std::move(to_kubelet);
  if (--batch->open == 0) batch->done(batch->answers);
}

}  // namespace plugin

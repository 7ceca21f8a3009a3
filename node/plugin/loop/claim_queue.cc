#include "node/plugin/loop/claim_queue.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/host/domain_dirs.h"
#include "pkg/base/rfc3339.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using base::Result;

constexpr std::chrono::milliseconds kLockPause{20};
constexpr std::chrono::milliseconds kPauseFirst{100};
constexpr std::chrono::milliseconds kPauseMost{2'000};
constexpr int kDoublingsMax = 5;
// More than the rule ever does in a row.
constexpr int kStepsMax = 32;

kubelet::Device DeviceOf(const PreparedDevice& device) {
  return {.requests = device.requests,
          .pool = device.pool,
          .name = device.name,
          .cdi_ids = device.cdi_ids};
}

kubelet::Answer AnswerOf(const ClaimStep& step) {
  kubelet::Answer answer = {.error = step.error};
  for (const PreparedGroup& group : step.groups) {
    for (const PreparedDevice& device : group.devices) answer.devices.push_back(DeviceOf(device));
  }
  return answer;
}

// The claim, as far as it is needed to say again what was said before.
ClaimToPrepare Unread(const kubelet::ClaimName& name) {
  return {.uid = name.uid,
          .name = name.name,
          .ns = name.ns,
          .wanted = base::Fail(base::ErrorCode::kUnavailable, "it has not been read")};
}

}  // namespace

void ClaimQueue::Add(Operation operation, const std::vector<kubelet::ClaimName>& claims,
                     kubelet::Done done) {
  auto batch =
      std::make_shared<BatchCall>(BatchCall{.open = claims.size(), .done = std::move(done)});
  if (claims.empty()) return batch->done({});
  const TimePoint now = state_.clock.Now();
  for (const kubelet::ClaimName& claim : claims) {
    state_.metrics.Began(operation);
    ClaimRequest& request = requests_.emplace_back(
        ClaimRequest{.operation = operation, .name = claim, .batch = batch, .since = now});
    if (!cdi::IsFileSafe(claim.uid) || claim.name.empty() || claim.ns.empty()) {
      Answer(request, {.what = Do::kAnswer, .error = "the claim has no UID, name and namespace"});
    }
  }
}

TimePoint ClaimQueue::Turn() {
  TimePoint until = TimePoint::max();
  readiness_.BeginTurn();
  for (ClaimRequest& request : requests_) {
    if (!request.is_answered) until = std::min(until, Advance(request));
  }
  std::erase_if(requests_,
                [](const ClaimRequest& request) { return request.is_answered && !request.asking; });
  return until;
}

void ClaimQueue::AnswerAll(const std::string& error) {
  for (ClaimRequest& request : requests_) {
    if (!request.is_answered) Answer(request, {.what = Do::kAnswer, .error = error});
  }
}

TimePoint ClaimQueue::Advance(ClaimRequest& request) {
  const TimePoint deadline = request.since + kAnswerAfter;
  for (int i = 0; i < kStepsMax; ++i) {
    const TimePoint now = state_.clock.Now();
    if (now >= deadline && (request.asking || now < request.next)) {
      const std::string& why = request.failed.empty() ? request.logged_reason : request.failed;
      Answer(request, {.what = Do::kAnswer, .error = why.empty() ? "the API server is slow" : why});
      return TimePoint::max();
    }
    if (request.asking) return deadline;
    if (now < request.next) return std::min(request.next, deadline);
    if (auto locked = state_.checkpoint_file.Lock(); !locked) {
      request.next = now + kLockPause;
      request.failed = locked.error().message;
      continue;
    }
    const ClaimStep step = Decide(request);
    const Result<void> done = Do(request, step);
    state_.checkpoint_file.Unlock();
    if (!done) {
      Fail(request, done.error());
      continue;
    }
    if (step.what == Do::kAnswer) {
      Answer(request, step);
      return TimePoint::max();
    }
    if (step.what == Do::kLabelNode || step.what == Do::kUnlabelNode) ChangeLabel(request, step);
    if (step.what != Do::kWait) continue;
    const bool is_news = std::exchange(request.logged_reason, step.error) != step.error;
    // Of what is only on its way nobody needs to hear.
    if (request.asking) return deadline;
    if (is_news) {
      state_.logger.Info("A claim waits", {{"claim", request.name.ns + "/" + request.name.name},
                                           {"for", request.logged_reason}});
    }
    return std::min({step.until, deadline, readiness_.look_again()});
  }
  return state_.clock.Now() + kLockPause;
}

ClaimStep ClaimQueue::WaitOrAnswer(const ClaimRequest& request, std::string what) const {
  const TimePoint until = request.since + kAnswerAfter;
  if (!request.failed.empty()) what += ": " + request.failed;
  if (state_.clock.Now() >= until) return {.what = Do::kAnswer, .error = std::move(what)};
  return {.what = Do::kWait, .error = std::move(what), .until = until};
}

ClaimStep ClaimQueue::Decide(ClaimRequest& request) {
  if (state_.is_rebuilding()) {
    return WaitOrAnswer(
        request, "what was prepared before is found out: " + state_.checkpoint_file.resumed().why);
  }
  if (request.operation == Operation::kPrepare) return DecidePrepare(request);
  return Unprepare(state_.self, request.name.uid, state_.checkpoint_file.checkpoint(),
                   Observe(request, ""));
}

ClaimStep ClaimQueue::DecidePrepare(ClaimRequest& request) {
  const std::string domain =
      request.claim && request.claim->wanted ? request.claim->wanted->config.domain : "";
  const NodeObservation observed = Observe(request, domain);
  if (IsOnDisk(request, observed)) {
    return plugin::Prepare(state_.self, Unread(request.name), state_.checkpoint_file.checkpoint(),
                           observed);
  }
  if (!request.claim) {
    ReadFromApi(request);
    return WaitOrAnswer(request, "the claim cannot be read");
  }
  if (!state_.host) return WaitOrAnswer(request, state_.host_trouble);
  return plugin::Prepare(state_.self, *request.claim, state_.checkpoint_file.checkpoint(),
                         observed);
}

bool ClaimQueue::IsOnDisk(const ClaimRequest& request, const NodeObservation& observed) const {
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto it = claims.find(request.name.uid);
  if (it == claims.end() || it->second.state != ClaimState::kCompleted) return false;
  const bool needs_spec = std::ranges::any_of(it->second.groups, [](const PreparedGroup& group) {
    return std::ranges::any_of(
        group.devices, [](const PreparedDevice& device) { return !device.cdi_ids.empty(); });
  });
  return observed.spec || !needs_spec;
}

NodeObservation ClaimQueue::Observe(ClaimRequest& request, const std::string& domain) {
  NodeObservation observed = {.node_read = state_.node && !state_.node_writing,
                              .since = request.since,
                              .now = state_.clock.Now()};
  if (observed.node_read) observed.node_domain = state_.node->domain;
  const auto spec = cdi::ReadClaim(state_.settings.cdi_folder, request.name.uid);
  // One that cannot be read is there, and is to be replaced.
  observed.has_spec = !spec || *spec;
  if (spec) observed.spec = *spec;
  if (domain.empty() || state_.api_client == nullptr) return observed;
  observed.has_folder = HasDomainFolder(state_.self.folder, domain);
  if (const auto known = state_.api_client->domains().Find(domain)) {
    observed.domain = known->domain;
  } else if (state_.api_client->domains().has_read()) {
    AskForDomain(request, domain);
    observed.domain_gone = request.domain_gone;
  }
  const bool is_channel = request.claim->wanted->name.type == DeviceType::kChannel;
  const bool is_its_node = state_.self.host_managed || observed.node_domain == domain;
  if (is_channel && is_its_node && state_.host) observed.is_ready = readiness_.IsReady(domain);
  return observed;
}

void ClaimQueue::ReadFromApi(ClaimRequest& request) {
  // Before, it is not known in which version claims are served.
  if (state_.api_client == nullptr || !state_.api_client->slices()) return;
  request.asking = true;
  const std::string version(NameOf(state_.api_client->dra_version()));
  const kube::ObjectKey key = {.ns = request.name.ns, .name = request.name.name};
  state_.api_client->Enqueue(ApiClient::Queue::kClaims, [this, &request, version,
                                                         key](http::Transport& transport) {
    auto claim = ReadClaim(transport, version, key, request.name.uid);
    state_.mailbox.Post([this, &request, claim = std::move(claim)] {
      request.asking = false;
      if (claim) {
        request.claim = *claim;
        request.failed.clear();
        return;
      }
      const auto code = claim.error().code;
      const bool is_final = code == base::ErrorCode::kNotFound || code == base::ErrorCode::kInvalid;
      if (!is_final) return Fail(request, claim.error());
      if (!request.is_answered)
        Answer(request, {.what = Do::kAnswer, .error = claim.error().message});
    });
  });
}

// A channel's domain lies in the namespace of its claim. One that is not there will not come, for
// its UID was given to it when it was made.
void ClaimQueue::AskForDomain(ClaimRequest& request, const std::string& domain) {
  if (request.claim->wanted->name.type != DeviceType::kChannel ||
      std::exchange(request.domain_asked, true))
    return;
  request.asking = true;
  state_.api_client->Enqueue(
      ApiClient::Queue::kReads,
      [this, &request, domain, ns = request.name.ns](http::Transport& transport) {
        const auto found = ReadDomains(transport, ns);
        state_.mailbox.Post([&request, domain, found] {
          request.asking = false;
          request.domain_gone = found && !found->contains(domain);
        });
      });
}

Result<void> ClaimQueue::Do(const ClaimRequest& request, const ClaimStep& step) {
  const std::string& uid = request.name.uid;
  Checkpoint next = state_.checkpoint_file.checkpoint();
  switch (step.what) {
    case Do::kNoteStarted:
      next.claims[uid] = {
          .status = request.claim->status, .name = request.claim->name, .ns = request.claim->ns};
      return state_.Save(std::move(next));
    case Do::kNoteCompleted:
      next.claims[uid].state = ClaimState::kCompleted;
      next.claims[uid].groups = step.groups;
      return state_.Save(std::move(next));
    case Do::kNoteAborted:
      next.claims[uid].state = ClaimState::kAborted;
      next.claims[uid].groups.clear();
      next.claims[uid].aborted_at = base::FormatSeconds(state_.clock.Wall());
      return state_.Save(std::move(next));
    case Do::kForget:
      next.claims.erase(uid);
      return state_.Save(std::move(next));
    case Do::kMakeFolder:
      return MakeDomainFolder(state_.self.folder, step.domain, state_.settings.config_template);
    case Do::kWriteSpec:
      return cdi::WriteWhole(state_.settings.cdi_folder, cdi::ClaimFile(uid),
                             cdi::Render(step.spec));
    case Do::kRemoveSpec:
      return cdi::Remove(state_.settings.cdi_folder, cdi::ClaimFile(uid));
    case Do::kLabelNode:
    case Do::kUnlabelNode:
    case Do::kWait:
    case Do::kAnswer:
      break;
  }
  return {};
}

void ClaimQueue::ChangeLabel(ClaimRequest& request, const ClaimStep& step) {
  const bool labels = step.what == Do::kLabelNode;
  LabelChange change = {.from = labels ? "" : step.domain, .to = labels ? step.domain : ""};
  request.asking = true;
  state_.ChangeNodeLabel(std::move(change), [this, &request](const Result<void>& changed) {
    request.asking = false;
    if (changed) {
      request.failed.clear();
      request.failures = 0;
    } else {
      Fail(request, changed.error());
    }
  });
}

void ClaimQueue::Fail(ClaimRequest& request, const base::Error& error) {
  const std::string before = std::exchange(request.failed, json::OneLine(error.message, 1000));
  const auto pause = kPauseFirst * (1 << std::min(request.failures++, kDoublingsMax));
  request.next = state_.clock.Now() + std::min(pause, kPauseMost);
  // The kubelet hears of it when the time is up.
  state_.logger.Log(
      before == request.failed ? base::LogLevel::kDebug : base::LogLevel::kInfo,
      "Something for a claim failed and is tried again",
      {{"claim", request.name.ns + "/" + request.name.name}, {"err", request.failed}});
}

void ClaimQueue::Answer(ClaimRequest& request, const ClaimStep& step) {
  request.is_answered = true;
  const bool prepares = request.operation == Operation::kPrepare;
  const bool done = step.error.empty();
  const std::string claim = request.name.ns + "/" + request.name.name;
  if (done) {
    state_.logger.Info(prepares ? "A claim is prepared" : "A claim is taken back",
                       {{"claim", claim}, {"uid", request.name.uid}});
  } else {
    state_.logger.Error(prepares ? "A claim is not prepared" : "A claim is not taken back",
                        {{"claim", claim}, {"uid", request.name.uid}, {"err", step.error}});
  }
  state_.metrics.Ended(request.operation, done, state_.clock.Now() - request.since);
  took_back_ = took_back_ || (!prepares && done);
  const auto batch = std::exchange(request.batch, nullptr);
  batch->answers[request.name.uid] =
      prepares ? AnswerOf(step) : kubelet::Answer{.error = step.error};
  if (--batch->open == 0) batch->done(batch->answers);
}

}  // namespace plugin

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

kubelet::Answer AnswerOf(const Step& step) {
  kubelet::Answer answer = {.error = step.error};
  for (const PreparedGroup& group : step.groups) {
    for (const PreparedDevice& device : group.devices) answer.devices.push_back(DeviceOf(device));
  }
  return answer;
}

// The claim, as far as it is needed to say again what was said before.
Claim Unread(const kubelet::ClaimName& name) {
  return {.uid = name.uid,
          .name = name.name,
          .ns = name.ns,
          .wanted = base::Fail(base::ErrorCode::kUnavailable, "it has not been read")};
}

}  // namespace

void ClaimWork::Add(Operation operation, const std::vector<kubelet::ClaimName>& claims,
                    kubelet::Done done) {
  auto batch = std::make_shared<Batch>(Batch{.open = claims.size(), .done = std::move(done)});
  if (claims.empty()) return batch->done({});
  const TimePoint now = state_.clock.Now();
  for (const kubelet::ClaimName& claim : claims) {
    state_.metrics.Began(operation);
    One& one =
        all_.emplace_back(One{.operation = operation, .name = claim, .batch = batch, .since = now});
    if (!cdi::IsFileSafe(claim.uid) || claim.name.empty() || claim.ns.empty()) {
      Answer(one, {.what = Do::kAnswer, .error = "the claim has no UID, name and namespace"});
    }
  }
}

TimePoint ClaimWork::Turn() {
  TimePoint until = TimePoint::max();
  readiness_.BeginTurn();
  for (One& one : all_) {
    if (!one.is_answered) until = std::min(until, Advance(one));
  }
  std::erase_if(all_, [](const One& one) { return one.is_answered && !one.asking; });
  return until;
}

void ClaimWork::AnswerAll(const std::string& error) {
  for (One& one : all_) {
    if (!one.is_answered) Answer(one, {.what = Do::kAnswer, .error = error});
  }
}

TimePoint ClaimWork::Advance(One& one) {
  const TimePoint deadline = one.since + kAnswerAfter;
  for (int i = 0; i < kStepsMax; ++i) {
    const TimePoint now = state_.clock.Now();
    if (now >= deadline && (one.asking || now < one.next)) {
      const std::string& why = one.failed.empty() ? one.said : one.failed;
      Answer(one, {.what = Do::kAnswer, .error = why.empty() ? "the API server is slow" : why});
      return TimePoint::max();
    }
    if (one.asking) return deadline;
    if (now < one.next) return std::min(one.next, deadline);
    if (auto locked = state_.notes.Lock(); !locked) {
      one.next = now + kLockPause;
      one.failed = locked.error().message;
      continue;
    }
    const Step step = Decide(one);
    const Result<void> done = Do(one, step);
    state_.notes.Unlock();
    if (!done) {
      Fail(one, done.error());
      continue;
    }
    if (step.what == Do::kAnswer) {
      Answer(one, step);
      return TimePoint::max();
    }
    if (step.what == Do::kLabelNode || step.what == Do::kUnlabelNode) ChangeLabel(one, step);
    if (step.what != Do::kWait) continue;
    const bool is_news = std::exchange(one.said, step.error) != step.error;
    // Of what is only on its way nobody needs to hear.
    if (one.asking) return deadline;
    if (is_news) {
      state_.logger.Info("A claim waits",
                         {{"claim", one.name.ns + "/" + one.name.name}, {"for", one.said}});
    }
    return std::min({step.until, deadline, readiness_.look_again()});
  }
  return state_.clock.Now() + kLockPause;
}

Step ClaimWork::Hold(const One& one, std::string what) const {
  const TimePoint until = one.since + kAnswerAfter;
  if (!one.failed.empty()) what += ": " + one.failed;
  if (state_.clock.Now() >= until) return {.what = Do::kAnswer, .error = std::move(what)};
  return {.what = Do::kWait, .error = std::move(what), .until = until};
}

Step ClaimWork::Decide(One& one) {
  if (state_.is_rebuilding()) {
    return Hold(one, "what was prepared before is found out: " + state_.notes.resumed().why);
  }
  if (one.operation == Operation::kPrepare) return DecidePrepare(one);
  return Unprepare(state_.self, one.name.uid, state_.notes.checkpoint(), Observe(one, ""));
}

Step ClaimWork::DecidePrepare(One& one) {
  const std::string domain = one.claim && one.claim->wanted ? one.claim->wanted->config.domain : "";
  const Observed observed = Observe(one, domain);
  if (IsOnDisk(one, observed)) {
    return plugin::Prepare(state_.self, Unread(one.name), state_.notes.checkpoint(), observed);
  }
  if (!one.claim) {
    Read(one);
    return Hold(one, "the claim cannot be read");
  }
  if (!state_.host) return Hold(one, state_.host_trouble);
  return plugin::Prepare(state_.self, *one.claim, state_.notes.checkpoint(), observed);
}

bool ClaimWork::IsOnDisk(const One& one, const Observed& observed) const {
  const auto& claims = state_.notes.checkpoint().claims;
  const auto it = claims.find(one.name.uid);
  if (it == claims.end() || it->second.state != ClaimState::kCompleted) return false;
  const bool needs_spec = std::ranges::any_of(it->second.groups, [](const PreparedGroup& group) {
    return std::ranges::any_of(
        group.devices, [](const PreparedDevice& device) { return !device.cdi_ids.empty(); });
  });
  return observed.spec || !needs_spec;
}

Observed ClaimWork::Observe(One& one, const std::string& domain) {
  Observed observed = {.node_read = state_.node && !state_.node_writing,
                       .since = one.since,
                       .now = state_.clock.Now()};
  if (observed.node_read) observed.node_domain = state_.node->domain;
  const auto spec = cdi::ReadClaim(state_.settings.cdi_folder, one.name.uid);
  // One that cannot be read is there, and is to be replaced.
  observed.has_spec = !spec || *spec;
  if (spec) observed.spec = *spec;
  if (domain.empty() || state_.link == nullptr) return observed;
  observed.has_folder = HasDomainFolder(state_.self.folder, domain);
  if (const auto known = state_.link->domains().Find(domain)) {
    observed.domain = known->domain;
  } else if (state_.link->domains().has_read()) {
    AskForDomain(one, domain);
    observed.domain_gone = one.domain_gone;
  }
  const bool is_channel = one.claim->wanted->name.type == DeviceType::kChannel;
  const bool is_its_node = state_.self.host_managed || observed.node_domain == domain;
  if (is_channel && is_its_node && state_.host) observed.is_ready = readiness_.Is(domain);
  return observed;
}

void ClaimWork::Read(One& one) {
  // Before, it is not known in which version claims are served.
  if (state_.link == nullptr || !state_.link->slices()) return;
  one.asking = true;
  const std::string version(NameOf(state_.link->dra_version()));
  const kube::ObjectKey key = {.ns = one.name.ns, .name = one.name.name};
  state_.link->Do(ApiLink::Lane::kClaims, [this, &one, version, key](http::Transport& transport) {
    auto claim = ReadClaim(transport, version, key, one.name.uid);
    state_.mailbox.Post([this, &one, claim = std::move(claim)] {
      one.asking = false;
      if (claim) {
        one.claim = *claim;
        one.failed.clear();
        return;
      }
      const auto code = claim.error().code;
      const bool is_final = code == base::ErrorCode::kNotFound || code == base::ErrorCode::kInvalid;
      if (!is_final) return Fail(one, claim.error());
      if (!one.is_answered) Answer(one, {.what = Do::kAnswer, .error = claim.error().message});
    });
  });
}

// A channel's domain lies in the namespace of its claim. One that is not there will not come, for
// its UID was given to it when it was made.
void ClaimWork::AskForDomain(One& one, const std::string& domain) {
  if (one.claim->wanted->name.type != DeviceType::kChannel || std::exchange(one.domain_asked, true))
    return;
  one.asking = true;
  state_.link->Do(ApiLink::Lane::kReads,
                  [this, &one, domain, ns = one.name.ns](http::Transport& transport) {
                    const auto found = ReadDomains(transport, ns);
                    state_.mailbox.Post([&one, domain, found] {
                      one.asking = false;
                      one.domain_gone = found && !found->contains(domain);
                    });
                  });
}

Result<void> ClaimWork::Do(const One& one, const Step& step) {
  const std::string& uid = one.name.uid;
  Checkpoint next = state_.notes.checkpoint();
  switch (step.what) {
    case Do::kNoteStarted:
      next.claims[uid] = {
          .status = one.claim->status, .name = one.claim->name, .ns = one.claim->ns};
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

void ClaimWork::ChangeLabel(One& one, const Step& step) {
  const bool labels = step.what == Do::kLabelNode;
  LabelChange change = {.from = labels ? "" : step.domain, .to = labels ? step.domain : ""};
  one.asking = true;
  state_.ChangeNodeLabel(std::move(change), [this, &one](const Result<void>& changed) {
    one.asking = false;
    if (changed) {
      one.failed.clear();
      one.failures = 0;
    } else {
      Fail(one, changed.error());
    }
  });
}

void ClaimWork::Fail(One& one, const base::Error& error) {
  const std::string before = std::exchange(one.failed, json::OneLine(error.message, 1000));
  const auto pause = kPauseFirst * (1 << std::min(one.failures++, kDoublingsMax));
  one.next = state_.clock.Now() + std::min(pause, kPauseMost);
  // The kubelet hears of it when the time is up.
  state_.logger.Log(before == one.failed ? base::LogLevel::kDebug : base::LogLevel::kInfo,
                    "Something for a claim failed and is tried again",
                    {{"claim", one.name.ns + "/" + one.name.name}, {"err", one.failed}});
}

void ClaimWork::Answer(One& one, const Step& step) {
  one.is_answered = true;
  const bool prepares = one.operation == Operation::kPrepare;
  const bool done = step.error.empty();
  const std::string claim = one.name.ns + "/" + one.name.name;
  if (done) {
    state_.logger.Info(prepares ? "A claim is prepared" : "A claim is taken back",
                       {{"claim", claim}, {"uid", one.name.uid}});
  } else {
    state_.logger.Error(prepares ? "A claim is not prepared" : "A claim is not taken back",
                        {{"claim", claim}, {"uid", one.name.uid}, {"err", step.error}});
  }
  state_.metrics.Ended(one.operation, done, state_.clock.Now() - one.since);
  took_back_ = took_back_ || (!prepares && done);
  const auto batch = std::exchange(one.batch, nullptr);
  batch->answers[one.name.uid] = prepares ? AnswerOf(step) : kubelet::Answer{.error = step.error};
  if (--batch->open == 0) batch->done(batch->answers);
}

}  // namespace plugin

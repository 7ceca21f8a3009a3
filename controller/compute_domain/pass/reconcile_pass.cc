#include "controller/compute_domain/pass/reconcile_pass.h"

#include <algorithm>
#include <iterator>

#include "controller/compute_domain/pass/shared_state.h"
#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/status/events.h"
#include "pkg/base/check.h"
#include "pkg/base/find.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

using http::Request;
using std::chrono::milliseconds;

constexpr int kRoundsMax = 4;
constexpr auto kSoon = std::chrono::seconds(1);
// Minimum time between two passes of a domain if the first one read live. Each event of a deletion
// would otherwise start all reads again.
constexpr auto kRest = milliseconds(50);
// Waits this long for the cache to show cdom's own writes, then uses the cache as it is.
constexpr auto kCatchUp = std::chrono::seconds(10);

// Returns the name of the clique that the action writes. Empty if it writes none.
std::optional<std::string> CliqueOf(const Action& action) {
  if (const auto* write = std::get_if<WriteClique>(&action)) return write->clique.meta.key.name;
  const auto* create = std::get_if<Create>(&action);
  if (create == nullptr || create->kind != Kind::kClique) return {};
  return create->key.name;
}

// Returns whether the action stores the finalizer, which comes before every child.
bool Admits(const Action& action) {
  const auto* write = std::get_if<WriteFinalizers>(&action);
  return write != nullptr && write->kind == Kind::kComputeDomain && !write->object.deleting;
}

// Returns a share from 0 to 1 that spreads the retries of domains.
double SpreadOf(const kube::Uid& uid) {
  constexpr std::size_t kParts = 1000;
  return static_cast<double>(std::hash<std::string>()(uid) % kParts) / kParts;
}

}  // namespace

ReconcilePass::ReconcilePass(SharedState& shared, kube::Uid uid) : shared_(shared) {
  observed_.uid = std::move(uid);
}

kube::WorkQueue::Ended EndOf(const Outcome& outcome) {
  kube::WorkQueue::Ended ended = {.failed = outcome.error.has_value()};
  if (outcome.has_read) ended.rest = kRest;
  if (!outcome.requeue_after) return ended;
  ended.again_after = *outcome.requeue_after;
  // Users wait for a requeue within a second, such as the end of a status window. A retry, or a
  // later requeue, may wait behind these.
  const bool may_wait = outcome.error || *ended.again_after > kSoon;
  if (may_wait) ended.priority = kube::WorkQueue::Priority::kLow;
  return ended;
}

std::vector<Request> ReconcilePass::Next() {
  while (phase_ != Phase::kOver) {
    if (!in_flight_.empty()) return BuildRequests();
    switch (phase_) {
      case Phase::kGather:
        Begin();
        break;
      case Phase::kSteps:
        NextStep();
        break;
      case Phase::kStatus:
        Finish();
        break;
      case Phase::kOver:
        break;
    }
  }
  return {};
}

void ReconcilePass::Begin() {
  before_ = shared_.memories().Recall(observed_.uid);
  // A decision from a view without cdom's own writes would repeat them.
  const base::Clock::TimePoint now = shared_.Now().monotonic;
  const auto is_unseen = [&](const Expectation& expected) {
    return !shared_.cache().HasCaughtUp(expected);
  };
  const bool behind = std::ranges::any_of(before_->expectations, is_unseen);
  if (behind && now < before_->expect_until) {
    outcome_.requeue_after = std::chrono::ceil<milliseconds>(before_->expect_until - now);
    outcome_.waits = true;
    phase_ = Phase::kOver;
    return;
  }
  next_.unseen = before_->unseen;
  for (const Expectation& expected : before_->expectations) {
    const bool is_child =
        expected.kind == Kind::kDaemonSet || expected.kind == Kind::kClaimTemplate;
    if (is_child && expected.gone.empty()) next_.unseen.insert_or_assign(expected.kind, expected);
  }
  std::erase_if(next_.unseen, [&](const auto& item) { return !is_unseen(item.second); });
  observed_ = shared_.Gather(observed_.uid);
  observed_.lacks_own_child = !next_.unseen.empty();
  if (shared_.logger().Writes(base::LogLevel::kObjects)) {
    shared_.logger().Log(base::LogLevel::kObjects, "Processing a ComputeDomain",
                         {{"domain", DomainName()}, {"uid", observed_.uid}});
  }
  phase_ = Phase::kSteps;
  Decide();
}

void ReconcilePass::Decide() {
  ++rounds_;
  next_step_ = 0;
  decide_again_ = false;
  Planner planner = MakePlanner();
  steps_ = planner.PlanSteps();
  status_.reset();
  const auto is_open = [](const auto& one) { return one.second.is_wanted || one.second.taken; };
  if (std::ranges::any_of(observed_.memory.retries, is_open)) {
    Change(PlanMade{});
  } else if (steps_.empty()) {
    status_ = planner.PlanStatus();
  }
}

Planner ReconcilePass::MakePlanner() {
  const bool knows_more = observed_.evidence.children || observed_.evidence.claims;
  if (knows_more) shared_.cache().AddNodes(observed_);
  return {observed_, shared_.Now(), shared_.rules()};
}

void ReconcilePass::NextStep() {
  if (next_step_ < steps_.size()) return StartStep(std::move(steps_[next_step_++]));
  if (decide_again_) {
    if (rounds_ < kRoundsMax) return Decide();
    // The last evidence was not used yet, and no event may start another pass.
    const char* const kNoEnd = "live reads kept finding something new";
    const ActionId kNoAction = {.type = std::variant_size_v<Action>};
    Fail({.action = kNoAction, .concern = Concern::kReads});
    if (!outcome_.error) {
      outcome_.error = base::Error{.code = base::ErrorCode::kUnavailable, .message = kNoEnd};
    }
  }
  BeginStatus();
}

void ReconcilePass::BeginStatus() {
  phase_ = Phase::kStatus;
  // Status also describes the writes and failures since the decision.
  if (!status_) status_ = MakePlanner().PlanStatus();
  if (status_->write) StartStep({*status_->write});
}

void ReconcilePass::StartStep(Step step) {
  for (Action& action : step) {
    if (PutOff(action)) continue;
    const auto* replace = std::get_if<ReplaceDaemon>(&action);
    if (shared_.dry_run()) {
      if (IsWrite(action)) {
        LogOnce(action);
        continue;
      }
    } else if (replace != nullptr && !TryBeginReplacement(*replace)) {
      continue;
    } else if (IsWrite(action)) {
      shared_.logger().Log(
          base::LogLevel::kObjects, "Acting",
          {{"domain", DomainName()}, {"uid", observed_.uid}, {"action", Describe(action)}});
    }
    const auto* unlabel = std::get_if<RemoveNodeLabel>(&action);
    if (unlabel != nullptr && observed_.domain && !observed_.domain->meta.deleting) {
      // The label may be removed from now on, even if the reply is lost.
      Change(LabelRemoved{.node = unlabel->node});
    }
    outcome_.has_read = outcome_.has_read || !IsWrite(action);
    ActionProgress progress = StartAction(action, observed_);
    in_flight_.push_back({.action = std::move(action), .progress = std::move(progress)});
  }
}

void ReconcilePass::LogOnce(const Action& action) {
  const ActionId id = IdOf(action);
  const bool is_news = next_.logged.insert(id).second && !before_->logged.contains(id);
  if (!is_news) return;
  shared_.logger().Info(
      "Would act",
      {{"domain", DomainName()}, {"uid", observed_.uid}, {"action", Describe(action)}});
}

std::string ReconcilePass::DomainName() const {
  return observed_.domain ? kube::ToString(observed_.domain->meta.key) : observed_.uid;
}

bool ReconcilePass::PutOff(const Action& action) {
  const Concern concern = ConcernOf(action);
  const bool creates = concern == Concern::kChildren || concern == Concern::kMembership;
  if (lacks_finalizer_ && creates && IsWrite(action)) return true;
  // This pass deleted the object already. The cache still shows it.
  const auto* remove = std::get_if<Delete>(&action);
  if (remove != nullptr && deleted_.contains(remove->uid)) return true;
  if (observed_.memory.retries.empty()) return false;
  const ActionId id = IdOf(action);
  const Retry* const retry = base::Find(observed_.memory.retries, id);
  if (retry == nullptr) return false;
  // A first failure may have passed with what started this pass.
  const bool is_news = retry->is_first && !not_now_.contains(id);
  const base::Clock::TimePoint due = shared_.rules().due_at(*retry, action);
  if (is_news || due <= shared_.Now().monotonic) return false;
  not_now_.insert(id);
  Change(ActionWaits{.action = id, .until = due});
  if (Admits(action)) lacks_finalizer_ = true;
  return true;
}

bool ReconcilePass::TryBeginReplacement(const ReplaceDaemon& replace) {
  const MemoryChange begun =
      ReplacementBegan{.clique = replace.clique, .node = replace.node, .replaced = replace.uid};
  const std::size_t cliques = observed_.memory.replacements.size();
  const bool is_in_rollout = observed_.memory.replacements.contains(replace.clique);
  const bool may = is_in_rollout || shared_.rollout().TryHold(observed_.uid, cliques + 1);
  if (may) Change(begun);
  waits_for_room_ = waits_for_room_ || !may;
  return may;
}

void ReconcilePass::Change(const MemoryChange& change) {
  observed_.memory = NextMemory(std::move(observed_.memory), change, shared_.Now().monotonic);
}

std::vector<Request> ReconcilePass::BuildRequests() {
  std::vector<Request> requests;
  for (InFlightAction& one : in_flight_) {
    one.methods.clear();
    one.permission = {};
    for (Request& request : RequestsOf(one.action, observed_, one.progress)) {
      if (one.methods.empty()) one.permission = kube::PermissionFor(request);
      one.methods.push_back(request.method);
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

void ReconcilePass::HandleReplies(std::vector<base::Result<http::Response>> replies) {
  CHECK(!in_flight_.empty());
  std::vector<InFlightAction> asked = std::exchange(in_flight_, {});
  auto reply = replies.begin();
  for (InFlightAction& one : asked) {
    std::vector<base::Result<http::Response>> checked;
    for (const http::Method method : one.methods) {
      CHECK(reply != replies.end());
      checked.push_back(kube::CheckStatus(std::move(*reply++), method));
    }
    const bool is_read = one.methods.front() == http::Method::kGet;
    if (std::ranges::all_of(checked, [](const auto& each) { return each.has_value(); })) {
      if (!is_read) shared_.permissions().OnGranted(one.permission);
      if (!is_read || !IsWrite(one.action)) RecordEvents(one.action);
    }
    TakeResult(one, compute_domain::HandleReplies(one.action, checked, observed_, one.progress));
  }
  CHECK(reply == replies.end());
}

void ReconcilePass::RecordEvents(const Action& done) {
  for (kube::Event& event : EventsOf(done, observed_)) {
    // Logs an action that may harm a job. A lasting state is in the conditions instead.
    if (event.type == kube::EventType::kWarning && !std::holds_alternative<WriteStatus>(done)) {
      shared_.logger().Warning(event.note, {{"domain", DomainName()}, {"uid", observed_.uid}});
    }
    outcome_.events.push_back(std::move(event));
  }
}

void ReconcilePass::TakeResult(InFlightAction& one, ActionResult result) {
  if (result.gpus) {
    shared_.SetGpus(result.gpus);
    result.findings.emplace_back(GpusCounted{.by_node = std::move(result.gpus)});
  }
  if (result.missing_permission) {
    result.findings.emplace_back(
        PermissionMissing{.permission = *result.missing_permission,
                          .until = shared_.permissions().OnForbidden(*result.missing_permission)});
  }
  observed_ = Learn(std::move(observed_), std::move(result.findings));
  for (const MemoryChange& change : result.memory) Change(change);
  const bool shows_pods = std::holds_alternative<ReadPodConditions>(one.action) && !result.goes_on;
  if (shows_pods) RecordPendingPodEvents();
  decide_again_ = decide_again_ || result.decide_again;
  std::ranges::move(result.expectations, std::back_inserter(next_.expectations));
  if (result.shows_crd) shared_.crd().OnConditions(!observed_.facts.cluster.status_is_pruned);
  const auto* replace = std::get_if<ReplaceDaemon>(&one.action);
  const bool is_not_done =
      result.missing_permission || (result.error && !result.error->MayBeDone());
  if (replace != nullptr && is_not_done) Change(ReplacementFailed{.clique = replace->clique});
  if (result.error) return TakeError(one.action, *std::move(result.error));
  RememberSuccess(one.action, result);
  if (result.goes_on) in_flight_.push_back(std::move(one));
}

void ReconcilePass::RecordPendingPodEvents() {
  shared_.AddSurveys(observed_);
  if (shared_.dry_run()) return;
  PendingPodEvents found = EventsForPendingPods(observed_);
  std::ranges::move(found.events, std::back_inserter(outcome_.events));
  Change(std::move(found.sent));
}

// Keeps the first error as the result of the pass. Each failure goes into the conditions.
void ReconcilePass::TakeError(const Action& action, base::Error error) {
  const Concern concern = ConcernOf(action);
  if (Admits(action)) lacks_finalizer_ = true;
  Fail({.action = IdOf(action),
        .concern = concern,
        .at_least = error.retry_after.value_or(std::chrono::seconds(0)),
        .is_conflict = error.code == base::ErrorCode::kConflict,
        .version = VersionOf(action),
        .failure = FailureOf(error, observed_.facts.cluster.user),
        .passing = error.message});
  if (!outcome_.error) outcome_.error = std::move(error);
}

void ReconcilePass::Fail(ActionFailed failed) {
  not_now_.insert(failed.action);
  failed.spread = SpreadOf(observed_.uid);
  Change(failed);
}

void ReconcilePass::RememberSuccess(const Action& action, const ActionResult& result) {
  const auto* create = std::get_if<Create>(&action);
  // A read follows, and shows whether the name of the child is free.
  const bool is_open = result.goes_on || (create != nullptr && result.decide_again);
  const auto* remove = std::get_if<Delete>(&action);
  if (remove != nullptr) deleted_.insert(remove->uid);
  if (!is_open) PaceRepetition(action, result.changed_nothing);
  if (std::holds_alternative<WriteStatus>(action)) Change(StatusWritten{});
  // The child may be deleted before a watch has shown it.
  if (create != nullptr && observed_.domain && !result.decide_again) {
    if (const auto role = RoleOf(observed_, *create)) Change(ChildMade{.role = *role});
  }
  if (const std::optional<std::string> clique = CliqueOf(action)) {
    cliques_written_[*clique] = shared_.Now().monotonic;
  }
}

// Another client may undo the write, such as a kubelet plugin that restores a label. The delay
// prevents that both write in turn without a pause.
void ReconcilePass::PaceRepetition(const Action& action, bool changed_nothing) {
  const ActionId id = IdOf(action);
  if (!IsWrite(action)) return Change(ActionDone{.action = id});
  const Retry* const before = base::Find(observed_.memory.retries, id);
  const bool is_repeated = before != nullptr && !before->written.empty();
  const bool is_undone = is_repeated && !changed_nothing;
  const bool was_told = is_repeated && !before->undone.empty();
  Change(ActionDone{.action = id,
                    .concern = ConcernOf(action),
                    .content = ContentOf(action),
                    .spread = SpreadOf(observed_.uid),
                    .undone = is_undone ? DescribeUndoing(action, observed_) : ""});
  not_now_.insert(id);
  const std::string& undone = observed_.memory.retries.at(id).undone;
  if (undone.empty() || was_told) return;
  shared_.logger().Warning("Another client undoes the writes of the controller",
                           {{"domain", DomainName()}, {"uid", observed_.uid}, {"help", undone}});
}

void ReconcilePass::Finish() {
  phase_ = Phase::kOver;
  const base::Clock::TimePoint now = shared_.Now().monotonic;
  outcome_.requeue_after = status_->requeue_after;
  waits_for_room_ = waits_for_room_ || status_->waits_for_room;
  if (const std::optional<NameTaken>& taken = status_->obstacle) {
    const ActionId action = IdOf(Create{.kind = taken->kind, .key = taken->key});
    const Retry* const retry = base::Find(observed_.memory.retries, action);
    if (retry != nullptr && retry->until > now) {
      Change(ActionWaits{.action = action});
    } else {
      Fail({.action = action,
            .concern = Concern::kChildren,
            .failure = taken->failure,
            .taken = taken});
    }
    if (!outcome_.error) {
      outcome_.error =
          base::Error{.code = base::ErrorCode::kAlreadyExists, .message = taken->failure.message};
    }
  }
  for (const auto& [action, retry] : observed_.memory.retries) {
    if (!retry.is_wanted) continue;
    outcome_.is_failing = true;
    // An action that was due but not tried waits for another action, which has its own time.
    if (now < retry.until || not_now_.contains(action)) {
      const auto rest = std::chrono::ceil<milliseconds>(retry.until - now);
      outcome_.requeue_after.AtMost(std::max(rest, milliseconds(1)));
    }
  }
  shared_.rollout().StopOrResume(observed_.uid, DomainName(), status_->rollout_failed);
  KeepMemoryShared();
  if (observed_.facts.cluster.status_is_pruned) {
    outcome_.requeue_after.AtMost(shared_.crd().UntilConditionsAreTried());
  }
  Remember();
}

// The log says what a condition would that the installed CRD drops, whenever it changes.
void ReconcilePass::KeepMemoryShared() {
  // The write of this pass may have shown that it drops them.
  const bool is_new = observed_.facts.cluster.status_is_pruned && !status_->memory_shared;
  if (is_new) status_->memory_shared = MakePlanner().PlanStatus().memory_shared;
  // While it is tried whether the CRD keeps them by now, nothing is new.
  if (!status_->memory_shared) return;
  const Verdict& shared = *status_->memory_shared;
  const Memory& memory = observed_.memory;
  const bool is_same =
      memory.memory_shared == shared.status && memory.memory_shared_reason == shared.reason;
  if (is_same) return;
  Change(MemorySharedFound{.status = std::string(shared.status),
                           .reason = std::string(shared.reason)});
  shared_.logger().Info("MemoryShared", {{"domain", DomainName()},
                                         {"uid", observed_.uid},
                                         {"status", memory.memory_shared},
                                         {"reason", shared.reason},
                                         {"message", shared.message}});
}

void ReconcilePass::Remember() {
  const base::Clock::TimePoint now = shared_.Now().monotonic;
  for (const auto& [clique, at] : cliques_written_) {
    const CliqueWritten written = {.clique = clique,
                                   .first_window = observed_.facts.settings->status_window};
    observed_.memory = NextMemory(std::move(observed_.memory), written, at);
  }
  if (observed_.evidence.scheduler_messages) {
    Change(*observed_.evidence.scheduler_messages);
  }
  if (!next_.expectations.empty()) outcome_.requeue_after.AtMost(kCatchUp);
  const bool has_paced = !observed_.domain && !observed_.memory.retries.empty();
  if (has_paced) outcome_.requeue_after.AtMost(UntilForgotten(observed_.memory, now));
  const bool is_over =
      !observed_.domain && next_.expectations.empty() && !has_paced && next_.logged.empty();
  shared_.rollout().Hold(observed_.uid, is_over ? 0 : observed_.memory.replacements.size());
  if (is_over) {
    shared_.memories().Forget(observed_.uid);
  } else {
    next_.memory = std::move(observed_.memory);
    next_.expect_until = now + kCatchUp;
    shared_.memories().Keep(observed_.uid, std::move(next_));
  }
  outcome_.wake = shared_.rollout().NextInLine(waits_for_room_ ? observed_.uid : "");
}

}  // namespace compute_domain

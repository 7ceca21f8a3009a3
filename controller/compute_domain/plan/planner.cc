#include "controller/compute_domain/plan/planner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/deletion.h"
#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/status/explanation/member_phases.h"
#include "controller/compute_domain/status/explanation/unlisted_claims.h"
#include "controller/compute_domain/status/status.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;

// Most blockers of a deletion finish within seconds, so wait before raising a Warning.
constexpr milliseconds kWarnAfter{5'000};

// Stores the finalizer before the first child. Otherwise a user could delete the domain while it
// has a child, and no controller would delete that child.
std::optional<Action> PlanAdmission(const Observed& observed) {
  const kube::ObjectMeta& domain = observed.domain->meta;
  if (domain.HasFinalizer(api::kFinalizer)) return {};
  std::vector<std::string> finalizers = domain.finalizers;
  finalizers.emplace_back(api::kFinalizer);
  return WriteFinalizers{
      .kind = Kind::kComputeDomain, .object = domain, .finalizers = std::move(finalizers)};
}

// Removes children of a domain that, according to the cache, does not exist.
std::vector<Step> PlanOrphans(const Observed& observed, const Rules& rules) {
  if (!HasChildren(observed)) return {};
  if (Step reads = rules.prove(observed); !reads.empty()) return {std::move(reads)};
  // The domain exists, but the cache does not show it yet. Its own pass decides.
  if (observed.evidence.LiveOwner() != nullptr) return {};
  Step actions = rules.tear_down(observed, BestView(observed));
  if (actions.empty()) return {};
  return {std::move(actions)};
}

Action ReadWhatIsLeft(const Observed& observed) {
  return ReadChildren{.workload_namespace = observed.domain->meta.key.ns};
}

void AddStep(Step step, std::vector<Step>& steps) {
  if (!step.empty()) steps.push_back(std::move(step));
}

// One step with `others`: a failed create must not leave a terminating pod listed as Ready in its
// clique, because workloads start on that.
Step WithMembership(Step others, const Observed& observed, const Membership& membership,
                    bool needs_daemons) {
  const bool reads_owner = std::ranges::any_of(
      others, [](const Action& action) { return std::holds_alternative<ReadOwner>(action); });
  std::ranges::copy(membership.actions, std::back_inserter(others));
  if (membership.needs_owner && !reads_owner) {
    others.emplace_back(ReadOwner{.key = observed.domain->meta.key});
  }
  if (needs_daemons) others.emplace_back(ReadDaemons{});
  if (membership.needs_claims) {
    others.emplace_back(ReadClaims{.ns = observed.domain->meta.key.ns});
  }
  return others;
}

}  // namespace

const Rules kRules = {.admit = PlanAdmission,
                      .provision = PlanChildren,
                      .membership = PlanMembership,
                      .rollout = PlanRollout,
                      .labels = PlanNodeLabels,
                      .consumers = FindConsumers,
                      .prove = PlanProof,
                      .tear_down = PlanTearDown,
                      .may_release = MayRelease,
                      .due_at = DueAt};

bool HasChildren(const Observed& observed) {
  const Children& children = observed.children;
  const auto is_ours = [&](const auto& object) {
    return IsDriverNamespace(observed.facts, object.meta.key.ns);
  };
  // A template in a user's namespace does not count: the garbage collector deletes it by its owner.
  // Exception: the reference's finalizer keeps it.
  const auto is_kept = [](const api::ResourceClaimTemplate& found) {
    return HoldsFinalizer(found.meta);
  };
  return std::ranges::any_of(children.daemon_sets, is_ours) ||
         std::ranges::any_of(children.templates, is_ours) ||
         std::ranges::any_of(children.templates, is_kept) ||
         std::ranges::any_of(children.cliques, is_ours) || !children.labelled_nodes.empty();
}

std::vector<Step> Planner::PlanSteps() {
  if (!observed_.domain) return PlanOrphans(observed_, rules_);
  if (IsPaused(observed_)) return {};
  return IsDeleting() ? deletion().steps : PlanLife();
}

StatusPlan Planner::PlanStatus() {
  StatusPlan plan;
  if (observed_.domain) {
    const bool is_paused = IsPaused(observed_);
    if (!is_paused && !IsDeleting()) {
      RequeueLife(plan.requeue_after);
      plan.rollout_failed = rollout().failed;
      plan.waits_for_room = rollout().waits_for_room;
      plan.obstacle = analysis().obstacle;
    }
    if (!is_paused && IsDeleting()) RequeueDeletion(plan.requeue_after);
    // Other domains wait until the daemons that a paused domain has replaced have settled.
    if (is_paused) plan.requeue_after.AtMost(rollout().requeue_after);
    if (is_paused || !IsDeleting() || deletion().wait) {
      plan.write = DecideStatusWrite(observed_, DecideStatus(), now_, plan.requeue_after);
    }
    if (observed_.facts.cluster.status_is_pruned) plan.memory_shared = DecideMemoryShared(Input());
    plan.requeue_after.AtMost(explanation().plugins.requeue_after);
    plan.requeue_after.AtMost(UntilPhasesEnd(observed_, now_));
    plan.requeue_after.AtMost(UntilConflictEnds(observed_.memory, now_.monotonic));
  }
  if (!observed_.domain || IsDeleting()) RequeueMissingPermission(plan.requeue_after);
  return plan;
}

std::vector<Step> Planner::PlanLife() {
  std::vector<Step> steps;
  Step children;
  if (!analysis().objection) {
    if (std::optional<Action> admission = rules_.admit(observed_)) steps.push_back({*admission});
    // Do not create children while a cache is unreadable: they may already exist.
    if (!analysis().unreadable) children = rules_.provision(observed_);
  }
  // The rollout compares pods with a template that is about to change, or with a stale view of it.
  const bool is_repaired = std::ranges::any_of(children, [](const Action& action) {
    return std::holds_alternative<WritePodTemplate>(action);
  });
  AddStep(WithMembership(std::move(children), observed_, membership(),
                         membership().needs_daemons || rollout().needs_daemons),
          steps);
  Step aside = labels().actions;
  if (!is_repaired) std::ranges::copy(rollout().actions, std::back_inserter(aside));
  if (messages().read) aside.emplace_back(*messages().read);
  if (auto uses = PlanUses(observed_, analysis())) aside.emplace_back(*std::move(uses));
  if (creation_trouble().read) aside.emplace_back(*creation_trouble().read);
  // One read of the claims serves all who need it.
  bool reads_claims = membership().needs_claims;
  std::erase_if(aside, [&](const Action& action) {
    return std::holds_alternative<ReadClaims>(action) && std::exchange(reads_claims, true);
  });
  AddStep(std::move(aside), steps);
  return steps;
}

void Planner::RequeueLife(RequeueAfter& requeue_after) {
  requeue_after.AtMost(membership().requeue_after);
  requeue_after.AtMost(rollout().requeue_after);
  requeue_after.AtMost(labels().requeue_after);
  requeue_after.AtMost(messages().requeue_after);
  requeue_after.AtMost(creation_trouble().requeue_after);
}

// Returns the time until `time` has passed since this process saw the deletion. Zero if it has, or
// if that is unknown.
milliseconds Planner::UntilSeenFor(milliseconds time) const {
  const auto& seen = observed_.memory.deletion_seen;
  if (!seen) return milliseconds(0);
  const auto rest = *seen + time - now_.monotonic;
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(rest));
}

// Returns the time until `periods` grace periods have passed since the user deleted the domain.
// Zero if they have passed by wall clock and since this process saw the deletion. The second
// condition is for a wall clock that is ahead: it must not end a grace period early.
milliseconds Planner::UntilGraceEnds(int periods) const {
  const auto asked = base::ParseTime(observed_.domain->meta.deletion_timestamp);
  if (!asked) return milliseconds(0);
  const auto grace = periods * DeletionGrace(observed_);
  const auto rest = std::chrono::ceil<milliseconds>(*asked + grace - now_.wall);
  return std::max(rest, UntilSeenFor(grace));
}

// Returns the time of day before which UntilGraceEnds() is not zero. It is the same in all
// processes, or two leaders would overwrite each other's message.
base::Clock::WallTime Planner::Deadline(int periods) const {
  const auto asked = base::ParseTime(observed_.domain->meta.deletion_timestamp);
  return asked.value_or(now_.wall) + periods * DeletionGrace(observed_);
}

// Returns whether an action failed for a reason that a person must know.
bool Planner::IsRefused() const {
  const auto is_told = [](const auto& one) { return one.second.is_wanted && one.second.failure; };
  return std::ranges::any_of(observed_.memory.retries, is_told);
}

// Adds reads that come first. If a read was refused, or a kind cannot be read, the deletion waits
// for it.
void Planner::AddReads(Step reads, Deletion& deletion) const {
  deletion.steps.push_back(std::move(reads));
  if (IsRefused() || !observed_.facts.views.problems.empty()) deletion.wait.emplace();
}

Planner::Deletion Planner::PlanDeletion() {
  Deletion deletion;
  const kube::ObjectMeta* owner = OwnerToRelease(observed_);
  if (Prove(owner, deletion)) {
    Step workload = PlanWorkloadTearDown(observed_, BestView(observed_));
    if (OutlastUsers(std::move(workload), deletion) && TearDown(deletion) &&
        OutlastDaemons(*owner, deletion)) {
      ReleaseDomain(*owner, deletion);
    }
  }
  if (std::optional<DeletionWait>& wait = deletion.wait) {
    wait->patience = std::max(wait->patience, UntilSeenFor(kWarnAfter));
  }
  return deletion;
}

// R2 (a cache is never evidence): no deletion starts from one.
bool Planner::Prove(const kube::ObjectMeta* owner, Deletion& deletion) const {
  const bool is_proven = owner != nullptr && owner->deleting;
  if (Step reads = rules_.prove(observed_); !reads.empty()) {
    if (is_proven) {
      AddReads(std::move(reads), deletion);
    } else {
      deletion.steps.push_back(std::move(reads));
    }
    return false;
  }
  if (owner == nullptr) {  // The domain is deleted, but the cache still shows it.
    Observed without_domain = observed_;
    without_domain.domain.reset();
    deletion.steps = PlanOrphans(without_domain, rules_);
  }
  return is_proven;
}

// Keeps the daemons while jobs use them. `workload` takes the workload template down meanwhile.
bool Planner::OutlastUsers(Step workload, Deletion& deletion) {
  DeletionWait wait = {.deadline = Deadline(1), .blockers = rules_.consumers(observed_)};
  // Claims that cannot be read count as in use.
  const Views& views = observed_.facts.views;
  const bool may_be_used = !views.claims_are_read && views.claims_are_granted;
  if (may_be_used) wait.blockers.push_back(views.ProblemOf(Kind::kClaim));
  const milliseconds grace = UntilGraceEnds(1);
  if (wait.blockers.empty() || grace <= milliseconds(0)) {
    AddStep(std::move(workload), deletion.steps);
    return true;
  }
  Step nodes = PlanNodeProof(observed_);
  // This read decides whether the domain is used. While it fails, the domain counts as used.
  const bool decides = !nodes.empty() && !observed_.memory.retries.contains(IdOf(nodes.front()));
  std::ranges::move(nodes, std::back_inserter(workload));
  if (decides) {
    deletion.steps.push_back(std::move(workload));
    return false;
  }
  deletion = {.wait = std::move(wait), .until = grace, .keeps_daemons = true};
  AddStep(WithMembership(std::move(workload), observed_, membership(), membership().needs_daemons),
          deletion.steps);
  return false;
}

// R2: a live read must show that no job needs the daemons.
bool Planner::TearDown(Deletion& deletion) const {
  Step rest = rules_.tear_down(observed_, BestView(observed_));
  const bool is_proven_unused = observed_.evidence.children || observed_.evidence.claims;
  if (rest.empty() || is_proven_unused || UntilGraceEnds(1) <= milliseconds(0)) {
    AddStep(std::move(rest), deletion.steps);
    return true;
  }
  const Action read = observed_.facts.views.claims_are_granted
                          ? Action(ReadClaims{.ns = observed_.domain->meta.key.ns})
                          : ReadWhatIsLeft(observed_);
  AddReads({read}, deletion);
  return false;
}

// Pods that do not end delay the deletion for at most one more grace period.
bool Planner::OutlastDaemons(const kube::ObjectMeta& owner, Deletion& deletion) const {
  DeletionWait wait = {.deadline = Deadline(2),
                       .blockers = FindRemains(observed_),
                       .jobs_have_ended = true,
                       .pinned = FindPinned(observed_, owner),
                       .patience = UntilRemainsShouldEnd(observed_, now_.wall)};
  if (wait.blockers.empty()) return true;
  if (const milliseconds bound = UntilGraceEnds(2); bound > milliseconds(0)) {
    deletion.wait = std::move(wait);
    deletion.until = bound;
    return false;
  }
  if (observed_.evidence.children) return true;
  AddReads({ReadWhatIsLeft(observed_)}, deletion);
  return false;
}

// The finalizer is last: without it the API server may delete the object, which is the only record
// of what the domain created.
void Planner::ReleaseDomain(const kube::ObjectMeta& owner, Deletion& deletion) const {
  const bool may_release = rules_.may_release(observed_);
  if (may_release && owner.HasFinalizer(api::kFinalizer)) {
    Step nodes = UntilGraceEnds(2) > milliseconds(0) ? PlanRemainsProof(observed_) : Step();
    if (!nodes.empty()) return AddReads(std::move(nodes), deletion);
    deletion.steps.push_back({Release(Kind::kComputeDomain, owner)});
    return;
  }
  std::vector<std::string> pinned = FindPinned(observed_, owner);
  // No status while the deletion continues: most deletions end before a user could read it.
  if (!pinned.empty() || (!may_release && (deletion.steps.empty() || IsRefused()))) {
    deletion.wait = {.pinned = std::move(pinned)};
  }
}

void Planner::RequeueDeletion(RequeueAfter& requeue_after) {
  const std::optional<DeletionWait>& wait = deletion().wait;
  if (wait && !wait->blockers.empty()) {
    requeue_after.AtMost(deletion().until);
    if (wait->patience > milliseconds(0)) requeue_after.AtMost(wait->patience);
  }
  if (deletion().keeps_daemons) {
    requeue_after.AtMost(membership().requeue_after);
    requeue_after.AtMost(UntilLostForLong(observed_.memory, now_.monotonic));
  }
}

// Requeues for cliques that may not be deleted: no watch shows when the permission is granted.
void Planner::RequeueMissingPermission(RequeueAfter& requeue_after) const {
  const auto until = observed_.facts.cluster.MissingUntil("delete", api::kComputeDomainCliques);
  if (!until || observed_.children.cliques.empty()) return;
  requeue_after.AtMostUntil(*until, now_.monotonic);
}

StatusInput Planner::Input() {
  return {.observed = observed_,
          .analysis = analysis(),
          .explanation = explanation(),
          .membership = membership(),
          .now = now_};
}

api::DomainStatus Planner::DecideStatus() {
  if (!IsDeleting()) return compute_domain::DecideStatus(Input());
  return compute_domain::DecideStatus(Input(),
                                      IsPaused(observed_) ? DeletionWait() : deletion().wait);
}

bool Planner::IsDeleting() const { return observed_.domain->meta.deleting; }

const Membership& Planner::membership() {
  if (!membership_) membership_ = rules_.membership(observed_, now_);
  return *membership_;
}

const Analysis& Planner::analysis() {
  if (!analysis_) analysis_ = Analyze(observed_, membership());
  return *analysis_;
}

const Explanation& Planner::explanation() {
  if (!explanation_) explanation_ = Explain(observed_, now_);
  return *explanation_;
}

const Rollout& Planner::rollout() {
  if (!rollout_) rollout_ = rules_.rollout(observed_, membership(), now_);
  return *rollout_;
}

const NodeLabels& Planner::labels() {
  if (!labels_) labels_ = rules_.labels(observed_, now_);
  return *labels_;
}

const SchedulerMessages& Planner::messages() {
  if (!messages_) messages_ = PlanSchedulerMessages(observed_, now_);
  return *messages_;
}

const CreationTrouble& Planner::creation_trouble() {
  if (!creation_trouble_) creation_trouble_ = PlanCreationTrouble(observed_, analysis(), now_);
  return *creation_trouble_;
}

const Planner::Deletion& Planner::deletion() {
  if (!deletion_) deletion_ = PlanDeletion();
  return *deletion_;
}

}  // namespace compute_domain

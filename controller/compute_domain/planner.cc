#include "controller/compute_domain/planner.h"

#include <algorithm>
#include <iterator>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/analysis.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/deletion.h"
#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/status.h"
#include "controller/compute_domain/status/usage.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;

// The finalizer comes before the first child: a child made without it is nobody's if the user
// deletes the domain now.
std::optional<Action> PlanAdmission(const Observed& observed) {
  const kube::ObjectMeta& domain = observed.domain->meta;
  if (domain.HasFinalizer(api::kFinalizer)) return {};
  std::vector<std::string> finalizers = domain.finalizers;
  finalizers.emplace_back(api::kFinalizer);
  return WriteFinalizers{
      .kind = Kind::kComputeDomain, .object = domain, .finalizers = std::move(finalizers)};
}

// Into one step with `others`: a child that cannot be made must not keep the clique of a pod that
// ends Ready, on which workloads are let loose.
void AddStep(Step others, const Membership& membership, bool needs_daemons, Plan& plan) {
  Step step = std::move(others);
  step.insert(step.end(), membership.actions.begin(), membership.actions.end());
  if (needs_daemons) step.emplace_back(ReadDaemons{});
  if (!step.empty()) plan.steps.push_back(std::move(step));
}

std::optional<milliseconds> Sooner(std::optional<milliseconds> a, std::optional<milliseconds> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

Plan PlanLife(const Observed& observed, const Findings& findings, const Instant& now,
              const Rules& rules) {
  Plan plan;
  Step children;
  if (!FindObjection(observed)) {
    if (std::optional<Action> admission = rules.admit(observed)) plan.steps.push_back({*admission});
    // Of what is not seen nothing is made a second time.
    if (!FindBlindness(observed)) children = rules.provision(observed);
    plan.obstacle = FindTakenName(observed);
  }
  const Membership membership = rules.membership(observed, now);
  Roll roll = rules.roll(observed, membership, now);
  plan.roll_failed = std::move(roll.failed);
  AddStep(std::move(children), membership, membership.needs_daemons || roll.needs_daemons, plan);
  Labels labels = rules.labels(observed, now);
  Words words = PlanWords(observed, now);
  std::ranges::move(roll.actions, std::back_inserter(labels.actions));
  if (words.read) labels.actions.emplace_back(*std::move(words.read));
  if (!labels.actions.empty()) plan.steps.push_back(std::move(labels.actions));
  plan.requeue_after = Sooner(membership.look_again,
                              Sooner(labels.look_again, Sooner(words.look_again, roll.look_again)));
  std::optional<Observed> hindered;  // A copy only where it is needed: it is large.
  if (plan.obstacle) hindered.emplace(observed).failure = plan.obstacle;
  const Observed& known = hindered ? *hindered : observed;
  plan.status = DecideStatusWrite(known, DecideStatus(known, findings, membership, now), now,
                                  plan.requeue_after);
  return plan;
}

// Most of what a deletion waits for ends by itself before anybody could have looked.
constexpr milliseconds kCallAfter{5'000};

// Until so long after this process first saw the deletion; zero: it has passed, or nobody noted.
milliseconds UntilSeenFor(const Observed& observed, const Instant& now, milliseconds time) {
  const auto& seen = observed.memory.deletion_seen;
  if (!seen) return milliseconds(0);
  const auto rest = *seen + time - now.monotonic;
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(rest));
}

// How long until `grace` has passed `times` over since the deletion was asked for; zero: it has.
// Both by the clocks of the API server and of this host, of which one may be wrong, and since we
// look: a clock that is ahead forces nothing.
milliseconds UntilDeadline(const Observed& observed, const Instant& now, int times) {
  const auto asked = base::ParseTime(observed.domain->meta.deletion_timestamp);
  if (!asked) return milliseconds(0);
  const auto grace = times * DeletionGrace(observed);
  const auto rest = std::chrono::ceil<milliseconds>(*asked + grace - now.wall);
  return std::max(rest, UntilSeenFor(observed, now, grace));
}

// Waits for a change, or until the deadline of `wait` if there are blockers, and lets status say
// so.
Plan PlanWait(const Observed& observed, const Findings& findings, const Instant& now,
              const Membership& membership, Plan plan, DeletionWait wait, milliseconds until) {
  wait.patience = std::max(wait.patience, UntilSeenFor(observed, now, kCallAfter));
  if (!wait.blockers.empty()) {
    const bool is_called = wait.patience == milliseconds(0);
    plan.requeue_after = is_called ? until : std::min(until, wait.patience);
  }
  plan.status =
      DecideStatusWrite(observed, DecideDeletionStatus(observed, findings, membership, wait, now),
                        now, plan.requeue_after);
  return plan;
}

// Reads before it goes on. A read that was refused is what the deletion waits for.
Plan PlanReads(const Observed& observed, const Findings& findings, const Instant& now,
               const Rules& rules, Plan plan, Step reads) {
  plan.steps.push_back(std::move(reads));
  if (!observed.failure) return plan;
  return PlanWait(observed, findings, now, rules.membership(observed, now), std::move(plan), {},
                  milliseconds(0));
}

// The domain as a live read showed it; null: it is gone, or nobody looked.
const kube::ObjectMeta* LiveOwner(const Observed& observed) {
  const auto& owner = observed.evidence.owner;
  return owner && *owner ? &**owner : nullptr;
}

Plan PlanOrphans(const Observed& observed, const Rules& rules) {
  if (!HasChildren(observed)) return {};
  Plan plan;
  if (Step reads = rules.prove(observed); !reads.empty()) {
    return {.steps = {std::move(reads)}};
  }
  // A domain that the cache has not seen yet is in charge of itself.
  if (LiveOwner(observed) != nullptr) return {};
  if (Step actions = rules.tear_down(observed, BestView(observed)); !actions.empty()) {
    plan.steps.push_back(std::move(actions));
  }
  return plan;
}

Action ReadWhatIsLeft(const Observed& observed) {
  return ReadChildren{.workload_namespace = observed.domain->meta.key.ns};
}

// The last phases, with what `plan` does before them: daemon pods and their claims; finalizer.
// `owner` is the domain as it was read live.
Plan PlanEnd(const Observed& observed, const Findings& findings, const kube::ObjectMeta& owner,
             const Instant& now, const Rules& rules, Plan plan) {
  // Pods that cannot end hold the domain for one grace more.
  const milliseconds bound = UntilDeadline(observed, now, 2);
  const DeletionWait wait = {.at_most = 2 * DeletionGrace(observed),
                             .blockers = FindRemains(observed),
                             .pinned = FindPinned(observed, owner),
                             .patience = UntilRemainsShouldEnd(observed, now.wall)};
  if (!wait.blockers.empty() && bound > milliseconds(0)) {
    return PlanWait(observed, findings, now, rules.membership(observed, now), std::move(plan), wait,
                    bound);
  }
  if (!wait.blockers.empty() && !observed.evidence.children) {
    return PlanReads(observed, findings, now, rules, std::move(plan), {ReadWhatIsLeft(observed)});
  }
  const auto wait_for_pinned = [&] {
    return PlanWait(observed, findings, now, rules.membership(observed, now), std::move(plan),
                    {.pinned = wait.pinned}, milliseconds(0));
  };
  if (!rules.may_release(observed)) return wait_for_pinned();
  // Last, because once it is gone the API server may drop the object, and with it the only record
  // of which children were ours.
  if (!owner.HasFinalizer(api::kFinalizer)) {
    return wait.pinned.empty() ? std::move(plan) : wait_for_pinned();
  }
  plan.steps.push_back({Release(Kind::kComputeDomain, owner)});
  return plan;
}

// Phases: workload template; consumers; everything else, side by side; then PlanEnd.
Plan PlanDeletion(const Observed& observed, const Findings& findings, const Instant& now,
                  const Rules& rules) {
  const kube::ObjectMeta* owner = LiveOwner(observed);
  const bool is_proven = owner != nullptr && owner->deleting;
  if (Step reads = rules.prove(observed); !reads.empty()) {
    if (!is_proven) return {.steps = {std::move(reads)}};
    return PlanReads(observed, findings, now, rules, {}, std::move(reads));
  }
  if (owner == nullptr) {  // Gone while the cache still shows it.
    Observed gone = observed;
    gone.domain.reset();
    return PlanOrphans(gone, rules);
  }
  if (!is_proven) return {};  // Nothing starts from a cache (R2).
  const Children& children = BestView(observed);
  Plan plan;
  Step workload = PlanWorkloadTearDown(observed, children);
  const milliseconds grace = UntilDeadline(observed, now, 1);
  DeletionWait wait = {.at_most = DeletionGrace(observed), .blockers = FindConsumers(observed)};
  // Claims that cannot be read may be in use.
  const Views& views = observed.facts.views;
  const bool may_be_used = !views.claims_are_read && views.claims_are_granted;
  if (may_be_used) wait.blockers.push_back(views.claims_problem);
  if (!wait.blockers.empty() && grace > milliseconds(0)) {
    const Membership membership = rules.membership(observed, now);
    // Their jobs go on: so do the daemons.
    AddStep(std::move(workload), membership, membership.needs_daemons, plan);
    plan = PlanWait(observed, findings, now, membership, std::move(plan), wait, grace);
    plan.requeue_after = Sooner(plan.requeue_after, membership.look_again);
    return plan;
  }
  if (!workload.empty()) plan.steps.push_back(std::move(workload));
  Step rest = rules.tear_down(observed, children);
  // That no job needs the daemons any more is not believed of a cache (R2).
  const bool is_proven_unused = observed.evidence.children || observed.evidence.claims;
  if (!rest.empty() && grace > milliseconds(0) && !is_proven_unused) {
    const Action read = views.claims_are_granted
                            ? Action(ReadClaims{.ns = observed.domain->meta.key.ns})
                            : ReadWhatIsLeft(observed);
    return PlanReads(observed, findings, now, rules, std::move(plan), {read});
  }
  if (!rest.empty()) plan.steps.push_back(std::move(rest));
  return PlanEnd(observed, findings, *owner, now, rules, std::move(plan));
}

// Only says so, and how the domain is: also while it is being deleted.
Plan PlanPause(const Observed& observed, const Findings& findings, const Instant& now,
               const Rules& rules) {
  Plan plan;
  const Membership membership = rules.membership(observed, now);
  plan.status = DecideStatusWrite(
      observed,
      observed.domain->meta.deleting ? DecideDeletionStatus(observed, findings, membership, {}, now)
                                     : DecideStatus(observed, findings, membership, now),
      now, plan.requeue_after);
  return plan;
}

// Cliques that we may not delete; nobody tells us when we may.
void TryAgainToDelete(const Observed& observed, const Instant& now, Plan& plan) {
  const auto until = observed.facts.LackUntil("delete", api::kComputeDomainCliques);
  if (!until || observed.children.cliques.empty()) return;
  BringForward(plan.requeue_after,
               std::chrono::ceil<milliseconds>(
                   std::max(*until - now.monotonic, base::Clock::TimePoint::duration(0))));
}

}  // namespace

const Rules kRules = {.admit = PlanAdmission,
                      .provision = PlanChildren,
                      .membership = PlanMembership,
                      .roll = PlanRoll,
                      .labels = PlanLabels,
                      .prove = PlanProof,
                      .tear_down = PlanTearDown,
                      .may_release = MayRelease};

bool HasChildren(const Observed& observed) {
  const Children& children = observed.children;
  const auto is_ours = [&](const auto& object) {
    return IsDriverNamespace(observed.facts, object.meta.key.ns);
  };
  // A template in a user's namespace is no suspicion by itself: its owner reference takes care of
  // it, unless the reference's finalizer holds it.
  const auto is_kept = [](const api::ClaimTemplate& found) { return HoldsFinalizer(found.meta); };
  return std::ranges::any_of(children.daemon_sets, is_ours) ||
         std::ranges::any_of(children.templates, is_ours) ||
         std::ranges::any_of(children.templates, is_kept) ||
         std::ranges::any_of(children.cliques, is_ours) || !children.labelled_nodes.empty();
}

Plan PlanReconcile(const Observed& observed, const Instant& now, const Rules& rules) {
  if (!observed.domain) {
    Plan plan = PlanOrphans(observed, rules);
    TryAgainToDelete(observed, now, plan);
    return plan;
  }
  const Findings findings = Find(observed, now);
  Plan plan = IsPaused(observed)               ? PlanPause(observed, findings, now, rules)
              : observed.domain->meta.deleting ? PlanDeletion(observed, findings, now, rules)
                                               : PlanLife(observed, findings, now, rules);
  plan.requeue_after = Sooner(plan.requeue_after, findings.plugins.look_again);
  if (observed.domain->meta.deleting) TryAgainToDelete(observed, now, plan);
  return plan;
}

}  // namespace compute_domain

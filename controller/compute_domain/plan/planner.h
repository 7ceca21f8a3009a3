// Planner: decides the actions and the status of one domain.
// Pure: no I/O, no clock, no state outside the object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/conditions/condition.h"
#include "controller/compute_domain/status/explanation/creation_trouble.h"

namespace compute_domain {

// The rules, one for each concern. A table, so that the simulation can replace a rule with a wrong
// one and check that an oracle notices.
struct Rules {
  // Returns the write of the finalizer, which comes before the first child. Empty if it is stored.
  std::optional<Action> (*admit)(const Observed&) = nullptr;
  // Creates and repairs children.
  std::vector<Action> (*provision)(const Observed&) = nullptr;
  Membership (*membership)(const Observed&, const Instant& now) = nullptr;
  // Replaces daemon pods whose template differs from that of their DaemonSet.
  Rollout (*rollout)(const Observed&, const Membership&, const Instant& now) = nullptr;
  // Removes the label from nodes that the domain no longer uses. Not for a domain that is being
  // deleted.
  NodeLabels (*labels)(const Observed&, const Instant& now) = nullptr;
  // Returns the users of a domain that is being deleted, whose daemons stay meanwhile.
  std::vector<std::string> (*consumers)(const Observed&) = nullptr;
  // Returns the live reads that a teardown needs first. Empty if none are needed.
  std::vector<Action> (*prove)(const Observed&) = nullptr;
  // Removes `children`, independently of each other.
  std::vector<Action> (*tear_down)(const Observed&, const Children& children) = nullptr;
  // Returns whether the domain's finalizer may be removed.
  bool (*may_release)(const Observed&) = nullptr;
  // Returns when an action may start that has ended before, as `retry` says.
  base::Clock::TimePoint (*due_at)(const Retry& retry, const Action& action) = nullptr;
};
extern const Rules kRules;

// The status, after the steps have succeeded or failed.
struct StatusPlan {
  std::optional<WriteStatus> write = {};
  // What MemoryShared says, if the installed CRD drops conditions.
  std::optional<Verdict> memory_shared = {};
  // Object that holds a child's name. The create is retried with back-off, because no action of
  // cdom frees the name and no watch shows it. Empty if there is none.
  std::optional<NameTaken> obstacle = {};
  // Why no daemon may be replaced in any domain. Empty if this domain has no reason.
  std::string rollout_failed = {};
  bool waits_for_room = false;  // Waits for its turn in the rollout of the cluster.
  RequeueAfter requeue_after = {};
};

// Plans one domain from one snapshot. Runs each rule at most once.
//
// A pass that sent steps makes a second planner for its status, because writes and failures have
// changed what is known. Rules run again in it, but only its StatusPlan is used: the watch event of
// a write starts the next pass. A pass without steps and without retries uses the first planner for
// its status, too.
//
// `observed` and `rules` must outlive the planner and must not change. For one thread.
class Planner {
 public:
  Planner(const Observed& observed, const Instant& now, const Rules& rules = kRules)
      : observed_(observed), now_(now), rules_(rules) {}

  // Returns the steps, to be done in order. Actions fail independently: only children and cliques
  // need the finalizer write that comes before them. Decide again after a live read, and after a
  // create whose name is taken.
  std::vector<Step> PlanSteps();

  // Returns the status plan. Write the status last, whether the steps succeeded or failed.
  StatusPlan PlanStatus();

 private:
  // A domain that is being deleted: its steps, and what the deletion waits for.
  struct Deletion {
    std::vector<Step> steps = {};
    std::optional<DeletionWait> wait = {};  // Empty if status is not written.
    std::chrono::milliseconds until{0};  // Time until the wait ends, even if it is still blocked.
    bool keeps_daemons = false;          // Jobs still run, so membership is still maintained.
  };

  Deletion PlanDeletion();
  // The phases of a deletion. Each adds its steps, and returns whether the next one may follow in
  // the same plan. Between the first and the second the workload template goes.
  bool Prove(const kube::ObjectMeta* owner, Deletion& deletion) const;  // Live reads.
  bool OutlastUsers(Step workload, Deletion& deletion);  // Waits for the users of the domain.
  bool TearDown(Deletion& deletion) const;               // All other children, in parallel.
  bool OutlastDaemons(const kube::ObjectMeta& owner, Deletion& deletion) const;
  void ReleaseDomain(const kube::ObjectMeta& owner, Deletion& deletion) const;  // The finalizer.
  void AddReads(Step reads, Deletion& deletion) const;
  bool IsRefused() const;
  std::chrono::milliseconds UntilSeenFor(std::chrono::milliseconds time) const;
  std::chrono::milliseconds UntilGraceEnds(int periods) const;
  base::Clock::WallTime Deadline(int periods) const;

  std::vector<Step> PlanLife();
  void RequeueLife(RequeueAfter& requeue_after);
  void RequeueDeletion(RequeueAfter& requeue_after);
  void RequeueMissingPermission(RequeueAfter& requeue_after) const;
  StatusInput Input();
  api::DomainStatus DecideStatus();
  bool IsDeleting() const;

  // Computed at the first call.
  const Membership& membership();
  const Analysis& analysis();
  const Explanation& explanation();
  const Rollout& rollout();
  const NodeLabels& labels();
  const SchedulerMessages& messages();
  const CreationTrouble& creation_trouble();
  const Deletion& deletion();

  const Observed& observed_;
  const Instant now_;
  const Rules& rules_;
  std::optional<Membership> membership_ = {};
  std::optional<Analysis> analysis_ = {};
  std::optional<Explanation> explanation_ = {};
  std::optional<Rollout> rollout_ = {};
  std::optional<NodeLabels> labels_ = {};
  std::optional<SchedulerMessages> messages_ = {};
  std::optional<CreationTrouble> creation_trouble_ = {};
  std::optional<Deletion> deletion_ = {};
};

// Returns whether objects remain that only this domain's reconcile removes.
bool HasChildren(const Observed& observed);

}  // namespace compute_domain

// Decides what to do about one domain, and what its status says. Pure: no IO, no clock, no state.
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

namespace compute_domain {

// The rules, one for each concern. A table, so that the simulation can put a wrong rule in the
// place of a right one and see an oracle notice.
struct Rules {
  // The finalizer to store before the first child; empty: it is there.
  std::optional<Action> (*admit)(const Observed&) = nullptr;
  // Creates and repairs children.
  std::vector<Action> (*provision)(const Observed&) = nullptr;
  Membership (*membership)(const Observed&, const Instant& now) = nullptr;
  // Replaces daemon pods that were made from another template than the DaemonSet has.
  Rollout (*rollout)(const Observed&, const Membership&, const Instant& now) = nullptr;
  // Takes the label off nodes that the domain, which lives, uses no more.
  NodeLabels (*labels)(const Observed&, const Instant& now) = nullptr;
  // Whether the cached view suffices to tear down, or which live reads come first.
  std::vector<Action> (*prove)(const Observed&) = nullptr;
  // What removes `children`, whatever else is missing.
  std::vector<Action> (*tear_down)(const Observed&, const Children& children) = nullptr;
  // Whether the domain's finalizer may go.
  bool (*may_release)(const Observed&) = nullptr;
};
extern const Rules kRules;

// What status says, once the steps were done or failed.
struct StatusPlan {
  std::optional<WriteStatus> write = {};
  // What no action of ours removes and no watch shows: try again with back-off.
  std::optional<NameTaken> obstacle = {};
  // Why no daemon is to be replaced anywhere. Empty if this domain knows of no reason.
  std::string rollout_failed = {};
  bool waits_for_room = false;  // For its turn in the rollout of the cluster.
  RequeueAfter requeue_after = {};
};

// Plans one domain from one snapshot. Each rule and each question is asked at most once.
//
// A pass that sent steps makes a second planner for its status, because writes and failures have
// changed what is known: then rules run again. Only the StatusPlan comes from this second run. Its
// actions are not sent, and the watch event of a write starts the next pass. A pass without steps,
// and without retries, asks the first planner for its status, and runs no rule twice.
//
// `observed` and `rules` outlive the planner, and do not change meanwhile. For one thread.
class Planner {
 public:
  Planner(const Observed& observed, const Instant& now, const Rules& rules = kRules)
      : observed_(observed), now_(now), rules_(rules) {}

  // Done in order. Each action fails by itself; only children and cliques need the finalizer that
  // was to be stored before them. What a live read finds, and a create whose name is taken, is a
  // reason to decide again.
  [[nodiscard]] std::vector<Step> PlanSteps();

  // Written last, whether the steps succeeded or not: from what was observed then.
  [[nodiscard]] StatusPlan PlanStatus();

 private:
  // A domain that is being deleted: what to do, and whom that waits for.
  struct Deletion {
    std::vector<Step> steps = {};
    std::optional<DeletionWait> wait = {};  // Empty: status is not written.
    std::chrono::milliseconds until{0};     // Then the wait ends, even if it is blocked.
    bool keeps_daemons = false;             // Jobs go on meanwhile, and so does membership.
  };

  // The phases of a deletion: proof; workload template; consumers; all else, side by side; pods and
  // claims of daemons; finalizer.
  [[nodiscard]] Deletion PlanDeletion();
  [[nodiscard]] Deletion WaitForConsumers(Step workload, DeletionWait wait);
  [[nodiscard]] Deletion PlanEnd(Deletion deletion, const kube::ObjectMeta& owner);
  [[nodiscard]] Deletion Read(Deletion deletion, Step reads) const;
  [[nodiscard]] bool IsRefused() const;
  [[nodiscard]] std::chrono::milliseconds UntilSeenFor(std::chrono::milliseconds time) const;
  [[nodiscard]] std::chrono::milliseconds UntilDeadline(int times) const;
  [[nodiscard]] base::Clock::WallTime Deadline(int times) const;

  [[nodiscard]] std::vector<Step> PlanLife();
  void RequeueLife(RequeueAfter& requeue_after);
  void RequeueDeletion(RequeueAfter& requeue_after);
  void RequeueMissingPermission(RequeueAfter& requeue_after) const;
  [[nodiscard]] api::DomainStatus DecideStatus();
  [[nodiscard]] bool IsDeleting() const;

  // Asked once.
  const Membership& membership();
  const Analysis& analysis();
  const Explanation& explanation();
  const Rollout& rollout();
  const NodeLabels& labels();
  const SchedulerMessages& messages();
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
  std::optional<Deletion> deletion_ = {};
};

// Whether anything is left that only this domain's reconcile removes.
[[nodiscard]] bool HasChildren(const Observed& observed);

}  // namespace compute_domain

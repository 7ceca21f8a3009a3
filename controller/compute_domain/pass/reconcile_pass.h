// One reconcile of one domain: gather, decide, act, write status.
// It decides again after live reads found evidence.
//
// A pass is a step function: it returns requests to send in parallel, and takes their replies. A
// worker sends them over its transport. The simulation serves them one by one, and may stop the
// process between any two.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/pass/domain_memories.h"
#include "controller/compute_domain/plan/planner.h"
#include "controller/compute_domain/requests/action_requests.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/event.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace compute_domain {

class SharedState;

// How a pass ended.
struct Outcome {
  // The first error. The other actions were still tried. Empty if there was none.
  std::optional<base::Error> error = {};
  bool waits = false;  // Nothing was done, because the cache does not show cdom's own writes yet.
  bool is_failing = false;  // An action failed, in this pass or before, and is retried.
  bool has_read = false;    // It read from the API server, not only from the cache.
  RequeueAfter requeue_after = {};
  // UID of the domain whose turn in the rollout it is now. Empty if there is none.
  kube::Uid wake = {};
  // Events of actions that succeeded, even if later actions failed.
  std::vector<kube::Event> events = {};
};

// Returns when the domain is due again, for the work queue.
kube::WorkQueue::Ended EndOf(const Outcome& outcome);

// One reconcile of one domain. Used by one thread. `shared` must outlive it.
class ReconcilePass {
 public:
  ReconcilePass(SharedState& shared, kube::Uid uid);

  // Returns the requests to send next, in parallel. Empty if the pass is over. Pass all replies to
  // HandleReplies, in the same order.
  std::vector<http::Request> Next();
  void HandleReplies(std::vector<base::Result<http::Response>> replies);
  const Outcome& outcome() const { return outcome_; }

 private:
  // An action that was sent.
  struct InFlightAction {
    Action action = {};
    ActionProgress progress = {};
    std::vector<http::Method> methods = {};  // Methods of its requests.
    kube::Permission permission = {};        // Permission that its first request needs.
  };

  enum class Phase { kGather, kSteps, kStatus, kOver };

  void Begin();  // Gathers, unless the cache does not show the last writes yet.
  void Decide();
  Planner MakePlanner();
  // Starts the next step, decides again, or begins the status if neither is needed.
  void NextStep();
  void BeginStatus();
  void StartStep(Step step);  // Puts its actions in flight.
  // With --dry-run: logs the write, unless the previous pass wanted it as well.
  void LogOnce(const Action& action);
  std::string DomainName() const;
  // Returns whether the action waits for a back-off, or for an action that must come first.
  // Remembers that it waits.
  bool PutOff(const Action& action);
  // Returns whether the clique may be in a rollout. If true, it counts as one from now on.
  bool TryBeginReplacement(const ReplaceDaemon& replace);
  std::vector<http::Request> BuildRequests();
  void RecordEvents(const Action& done);
  void TakeResult(InFlightAction& one, ActionResult result);
  void TakeError(const Action& action, base::Error error);
  void Fail(ActionFailed failed);
  void RecordPendingPodEvents();
  void RememberSuccess(const Action& action, const ActionResult& result);
  void PaceRepetition(const Action& action, bool changed_nothing);
  void Finish();
  void KeepMemoryShared();
  void Remember();
  void Change(const MemoryChange& change);

  SharedState& shared_;
  Observed observed_;
  Phase phase_ = Phase::kGather;
  std::vector<Step> steps_;
  std::optional<StatusPlan> status_;       // Empty while the steps of a decision run.
  std::vector<InFlightAction> in_flight_;  // Actions of the current step that are not done.
  std::size_t next_step_ = 0;
  int rounds_ = 0;
  bool decide_again_ = false;     // An action found evidence since the last decision.
  bool waits_for_room_ = false;   // Too many cliques of the cluster are in a rollout.
  bool lacks_finalizer_ = false;  // The finalizer could not be stored, so no child may be created.
  // Actions that failed or succeeded in this pass, or were not due yet.
  std::set<ActionId> not_now_;
  // Time of the last write of each clique in this pass. Memory gets it only at the end: writes of a
  // clique in one pass do not wait for each other, and count as one.
  std::map<std::string, base::Clock::TimePoint> cliques_written_;
  std::set<kube::Uid> deleted_;  // Objects deleted in this pass. The cache may still show them.
  Outcome outcome_;
  std::shared_ptr<const Remembered> before_;  // Of the previous pass. Null before Begin().
  Remembered next_;  // For the next pass. Its memory is in `observed_` until the end.
};

}  // namespace compute_domain

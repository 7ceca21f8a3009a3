// One reconcile of one domain: gather, decide, act; again with the evidence that live reads gave.
//
// A pass is a step function: it names the requests to send side by side, and takes their replies. A
// worker sends them over its transport; the simulation serves them one by one, and may stop the
// process between any two.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/planner.h"
#include "controller/compute_domain/requests/apply.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/event.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace compute_domain {

class Reconciler;

// How a pass ended.
struct Outcome {
  std::optional<base::Error> error = {};  // The first one; every action was tried.
  bool waits = false;       // Nothing was done yet: the cache is behind our own writes.
  bool is_failing = false;  // An action failed, now or before, and is tried again.
  bool has_read = false;    // From the API server and not from the cache.
  RequeueAfter requeue_after = {};
  std::string wake = {};                 // UID of a domain whose turn it is now. Empty: none.
  std::vector<kube::Event> events = {};  // Of what succeeded, whatever came after it.
};

// For the queue, whose worker has ended the pass: when the domain is due again.
[[nodiscard]] kube::WorkQueue::Ended EndOf(const Outcome& outcome);

// One reconcile of one domain. Used by one thread; outlived by its reconciler.
class ReconcilePass {
 public:
  ReconcilePass(Reconciler& reconciler, std::string uid);

  // What to send next, side by side; empty: the pass is over. Hand every reply to HandleReplies.
  [[nodiscard]] std::vector<http::Request> Next();
  void HandleReplies(std::vector<base::Result<http::Response>> replies);
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  // One action of the step that runs.
  struct InFlightAction {
    Action action = {};
    ActionProgress read = {};
    std::vector<http::Method> methods = {};  // Of its requests.
    kube::Permission permission = {};        // That the first of them takes.
  };

  enum class Phase { kGather, kSteps, kStatus, kOver };

  void Gather();
  void Decide();
  [[nodiscard]] Planner MakePlanner();
  void NextStep();  // Or the next decision; or the status, after the last of them.
  void BeginStatus();
  void StartStep(Step step);  // Puts its actions under way.
  // With --dry-run: logs the write, unless the pass before this one wanted it, too.
  void TellOnce(const std::string& action);
  [[nodiscard]] std::string DomainName() const;  // For the log.
  // Whether the action may go now, or waits for its back-off or for what has to come before it.
  [[nodiscard]] bool MayStart(const Action& action);
  [[nodiscard]] bool MayReplace(const ReplaceDaemon& replace);
  [[nodiscard]] std::vector<http::Request> BuildRequests();
  void RecordEvents(const Action& done);
  void TakeResult(InFlightAction& one, ActionResult result);
  void TakeError(const Action& action, base::Error error);
  void TryAgain(ActionDelayed delayed);
  void RecordPendingPodEvents();
  void RememberSuccess(const Action& action, const ActionResult& result);
  void Finish();
  void Remember();
  void Change(const MemoryChange& change);

  Reconciler& reconciler_;
  Observed observed_;
  Phase phase_ = Phase::kGather;
  std::vector<Step> steps_;
  std::optional<StatusPlan> status_;       // Empty while the steps of a decision run.
  std::vector<InFlightAction> in_flight_;  // What is not done of the step that was begun last.
  std::size_t next_step_ = 0;
  int rounds_ = 0;
  bool decide_again_ = false;     // An action found evidence since the last decision.
  bool waits_for_room_ = false;   // Too many cliques of the cluster are under way.
  bool lacks_finalizer_ = false;  // It could not be stored: no child may be created.
  std::set<std::string> tried_;   // Actions that failed in this pass, or were not due yet.
  // When each clique was written last in this pass. Only the next pass remembers that: two writes
  // of a clique in one pass do not wait for each other, and count as one.
  std::map<std::string, base::Clock::TimePoint> cliques_written_;
  std::set<kube::Uid> deleted_;  // In this pass: the cache may not show it yet.
  Outcome outcome_;
  std::vector<Expectation> expectations_;
  std::map<Kind, Expectation> unseen_;
  std::set<std::string> wanted_;  // With --dry-run: the writes of this pass, and of that before it.
  std::set<std::string> told_;
};

}  // namespace compute_domain

// Reconciles one domain at a time: gather, decide, act; again with the evidence that live reads
// gave.
//
// A pass is a step function: it names the requests to send side by side, and takes their replies. A
// worker sends them over its transport; the simulation serves them one by one, and may stop the
// process between any two.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/planner.h"
#include "controller/compute_domain/requests/apply.h"
#include "controller/compute_domain/requests/permissions.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/event.h"

namespace compute_domain {

class Reconciler;

// How a pass ended.
struct Outcome {
  std::optional<base::Error> error = {};  // Try again later, with back-off.
  bool waits = false;  // Nothing was done yet: the cache is behind our own writes.
  std::optional<std::chrono::milliseconds> requeue_after = {};
  std::vector<kube::Event> events = {};  // Of what succeeded, whatever came after it.
};

// One reconcile of one domain. Used by one thread; outlived by its reconciler.
class Pass {
 public:
  Pass(Reconciler& reconciler, std::string uid);

  // What to send next, side by side; empty: the pass is over. Hand every reply to TakeReplies.
  [[nodiscard]] std::vector<http::Request> Next();
  void TakeReplies(std::vector<base::Result<http::Response>> replies);
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  // One action of the step that runs.
  struct UnderWay {
    Action action = {};
    LiveRead read = {};
    std::vector<http::Method> methods = {};  // Of its requests.
    kube::Right right = {};                  // That the first of them takes.
  };

  enum class Phase { kGather, kSteps, kStatus, kOver };

  void Gather();
  void Decide();
  [[nodiscard]] Plan MakePlan();
  void NextStep();  // Or the next decision; or the status, after the last of them.
  void BeginStatus();
  void Begin(Step step);  // Puts its actions under way.
  [[nodiscard]] bool MayReplace(const ReplaceDaemon& replace);
  [[nodiscard]] std::vector<http::Request> Ask();
  void Tell(const Action& done);
  void TakeResult(UnderWay& one, ActionResult result);
  void Finish();
  void Remember();

  Reconciler& reconciler_;
  Observed observed_;
  Phase phase_ = Phase::kGather;
  Plan plan_;
  std::vector<UnderWay> under_way_;  // What is not done of the step that was begun last.
  std::size_t next_step_ = 0;
  int rounds_ = 0;
  bool acted_ = false;                 // A step ran since the last decision.
  bool decide_again_ = false;          // And it found evidence.
  bool replace_later_ = false;         // Too many cliques of the cluster are under way.
  std::map<std::string, Pace> paces_;  // Of cliques, with the writes of this pass.
  Outcome outcome_;
  std::vector<Expectation> expectations_;
};

class Reconciler {
 public:
  // All outlive the reconciler. Thread-safe, as long as one domain has one pass at a time.
  Reconciler(const Cache& cache, Facts facts, const base::Clock& clock, base::Logger& logger,
             const Rules& rules = kRules);

  [[nodiscard]] Pass Start(const std::string& uid) { return Pass(*this, uid); }

  // What a pass begins with.
  [[nodiscard]] Observed Gather(const std::string& uid) const;

  // What is free in each clique. It is counted at most once a second, however many ask.
  [[nodiscard]] std::shared_ptr<const Rooms> CountRooms() const;
  void VisitRooms(const Cache::RoomVisitor& visit) const;

  // Why no daemon is replaced in any domain; empty: they are.
  [[nodiscard]] std::string RollStopped() const;

  // How well everything is seen from now on.
  void SetViews(const Views& views);

  // Plans are logged and nothing is written.
  void SetDryRun() { dry_run_ = true; }

 private:
  friend class Pass;

  // What outlives a pass.
  struct Remembered {
    Memory memory = {};
    std::vector<Expectation> expectations = {};
    base::Clock::TimePoint expect_until = {};
  };

  // The right is missing, or there; said where that is news.
  [[nodiscard]] base::Clock::TimePoint OnRefused(const kube::Right& right);
  void OnGranted(const kube::Right& right);
  // What the domain knows of daemons of the new template; empty: that nothing is wrong.
  void StopOrResumeRoll(const std::string& uid, const std::string& failed);
  void AddHolders(Observed& observed) const;
  [[nodiscard]] Remembered Recall(const std::string& uid) const;
  [[nodiscard]] Instant Now() const { return {clock_.Now(), clock_.Wall()}; }

  const Cache& cache_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const Rules rules_;
  bool dry_run_ = false;
  base::Guarded<Facts> facts_;
  std::string roll_stopped_by_;  // The domain's UID; under the lock of `facts_`.
  base::Guarded<std::map<std::string, Remembered>> memories_;
  base::Guarded<Refusals> refusals_;
  struct Counted {
    base::Clock::TimePoint at = {};
    std::shared_ptr<const Rooms> rooms = {};
  };
  mutable base::Guarded<Counted> counted_;
};

}  // namespace compute_domain

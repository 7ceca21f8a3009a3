// Reconciles one domain at a time: gather, decide, act; again with the evidence that live reads
// gave.
//
// A pass is a step function: it names the requests to send side by side, and takes their replies. A
// worker sends them over its transport; the simulation serves them one by one, and may stop the
// process between any two.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/apply.h"
#include "controller/compute_domain/cache.h"
#include "controller/compute_domain/plan.h"
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
  };

  [[nodiscard]] std::vector<http::Request> Send(Step step);
  [[nodiscard]] std::vector<http::Request> Ask();
  void Decide();
  [[nodiscard]] Plan MakePlan();
  void Finish();

  Reconciler& reconciler_;
  Observed observed_;
  Plan plan_;
  Step rest_;  // Of the step under way, what was not sent yet.
  std::vector<UnderWay> under_way_;
  std::size_t next_step_ = 0;
  int rounds_ = 0;
  bool acted_ = false;         // A step ran since the last decision.
  bool decide_again_ = false;  // And it found evidence.
  bool over_ = false;
  bool status_sent_ = false;
  bool status_written_ = false;
  std::map<std::string, Pace> paces_;  // Of cliques, with the writes of this pass.
  Outcome outcome_;
  std::vector<Expectation> expectations_;
};

class Reconciler {
 public:
  // Whether a write may be sent now.
  using WriteGate = std::function<bool()>;

  // All outlive the reconciler. Thread-safe, as long as one domain has one pass at a time.
  Reconciler(const Cache& cache, Facts facts, WriteGate gate, const base::Clock& clock,
             base::Logger& logger, const Rules& rules = kRules);

  [[nodiscard]] Pass Start(const std::string& uid) { return Pass(*this, uid); }

  // What a pass begins with.
  [[nodiscard]] Observed Gather(const std::string& uid) const;

  // A kind that cannot be read (reason and sentence for conditions); empty: all can.
  void SetProblem(const std::string& reason, const std::string& problem);

  // The versions of resource.k8s.io in which the kinds are served; empty: none is.
  void SetDraVersions(const std::string& templates, const std::string& claims);

  void SetSlices(Sight sight);

  // Plans are logged and nothing is written.
  void SetDryRun() { dry_run_ = true; }

 private:
  friend class Pass;

  // What outlives a pass. It only paces and explains: a new process does without.
  struct Memory {
    std::optional<base::Clock::TimePoint> status_written = {};
    std::map<std::string, Pace> clique_paces = {};
    std::map<std::string, base::Clock::TimePoint> idle_since = {};
    std::map<std::string, base::Clock::TimePoint> silent_since = {};
    std::map<std::string, std::string> words = {};
    std::optional<base::Clock::TimePoint> words_read = {};
    std::map<kube::Uid, std::string> told = {};
    std::vector<Expectation> expectations = {};
    base::Clock::TimePoint expect_until = {};
  };

  void AddHolders(Observed& observed) const;
  [[nodiscard]] Memory MemoryOf(const std::string& uid) const;
  [[nodiscard]] Instant Now() const { return {clock_.Now(), clock_.Wall()}; }

  const Cache& cache_;
  const WriteGate gate_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const Rules rules_;
  bool dry_run_ = false;
  base::Guarded<Facts> facts_;
  base::Guarded<std::map<std::string, Memory>> memories_;
};

}  // namespace compute_domain

// What all reconciles share: settings and how fresh each cache is, what is remembered of each
// domain, missing permissions, and the brake on rollouts.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/reconcile_pass.h"
#include "controller/compute_domain/requests/permissions.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"

namespace compute_domain {

class Reconciler {
 public:
  // All outlive the reconciler. Thread-safe, as long as one domain has one pass at a time.
  Reconciler(const Cache& cache, const Facts& facts, const base::Clock& clock, base::Logger& logger,
             const Rules& rules = kRules);

  [[nodiscard]] ReconcilePass Start(const std::string& uid) { return ReconcilePass(*this, uid); }

  // What a pass begins with.
  [[nodiscard]] Observed Gather(const std::string& uid) const;

  // What is free in each clique. It is counted at most once a second, however many ask.
  [[nodiscard]] std::shared_ptr<const CliqueCapacities> CountCapacity() const;
  // Every node that may be part of a domain, in order of their names.
  using NodeVisitor = std::function<void(const api::Node& node, const NodeAvailability&)>;
  void VisitNodes(const NodeVisitor& visit) const;

  // Why no daemon is replaced in any domain; empty: they are.
  [[nodiscard]] std::string RolloutStopped() const;

  // As whom the API server knows this process, for what is said of refusals.
  void SetUser(const std::string& user);
  // How well everything is seen from now on.
  void SetViews(const Views& views);

  // The CRD may have changed: conditions that it dropped may be kept now. Whether it did drop any.
  [[nodiscard]] bool TryConditionsAgain();

  // Writes are logged, each once for as long as it is wanted, and nothing is written.
  void SetDryRun() { dry_run_ = true; }

 private:
  void VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const;
  friend class ReconcilePass;

  // What outlives a pass.
  struct Remembered {
    Memory memory = {};
    std::vector<Expectation> expectations = {};
    base::Clock::TimePoint expect_until = {};
    // Of our last child of each kind that the cache had not seen when that time was over.
    std::map<Kind, Expectation> unseen = {};
    std::set<std::string> told = {};  // With --dry-run: the writes that the last pass wanted.
  };

  // The right is missing, or there; said where that is news.
  [[nodiscard]] base::Clock::TimePoint OnForbidden(const kube::Permission& permission);
  void OnGranted(const kube::Permission& permission);
  // What the domain knows of daemons of the new template; empty: that nothing is wrong.
  void StopOrResumeRollout(const std::string& uid, const std::string& failed);
  void AddNodeHolders(Observed& observed) const;
  // Conditions were written, and the installed CRD has kept them, or dropped them.
  void OnConditions(bool kept);
  [[nodiscard]] std::chrono::milliseconds UntilConditionsAreTried() const;
  struct Memories {
    std::map<std::string, Remembered> of = {};  // By UID.
    std::size_t replacing = 0;                  // Cliques, of all domains.
    std::deque<std::string> waiting = {};       // Until there are fewer. Each UID once.

    void Keep(const std::string& uid, Remembered remembered);
    void Forget(const std::string& uid);
  };
  // Has `waits`, if it is not empty, wait for room in the rollout, after all that do. Returns whose
  // turn it is: of those that wait the first, who waits no more. Empty if there is no room, or
  // none.
  [[nodiscard]] std::string NextForRoom(const std::string& waits);
  [[nodiscard]] Remembered Recall(const std::string& uid) const;
  [[nodiscard]] Instant Now() const { return {clock_.Now(), clock_.Wall()}; }

  const Cache& cache_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const Rules rules_;
  bool dry_run_ = false;
  base::Guarded<Facts> facts_;
  std::string rollout_stopped_by_;  // The domain's UID; under the lock of `facts_`.
  base::Guarded<Memories> memories_;
  const std::size_t replacing_max_;
  base::Guarded<MissingPermissions> missing_permissions_;
  // The installed CRD drops conditions, and they are not written before `until`: one API server of
  // several may know an older CRD for some seconds.
  struct Pruned {
    base::Backoff backoff = {};
    base::Clock::TimePoint until = {};
  };
  base::Guarded<Pruned> pruned_;
  struct Counted {
    base::Clock::TimePoint at = {};
    std::shared_ptr<const CliqueCapacities> capacity = {};
  };
  mutable base::Guarded<Counted> counted_;
};

}  // namespace compute_domain

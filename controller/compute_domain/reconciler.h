// State that all reconciles share.
// Settings, cache freshness, memory of each domain, missing permissions, and the limit on rollouts.
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
  // `cache`, `clock` and `logger` must outlive the reconciler. Thread-safe, if each domain has at
  // most one pass at a time.
  Reconciler(const Cache& cache, const Facts& facts, const base::Clock& clock, base::Logger& logger,
             const Rules& rules = kRules);

  ReconcilePass Start(const std::string& uid) { return ReconcilePass(*this, uid); }

  // Returns the snapshot with which a pass begins.
  Observed Gather(const std::string& uid) const;

  // Returns the capacity of each clique. Counts at most once a second, for all callers together.
  std::shared_ptr<const CliqueCapacities> CountCapacity() const;
  // Visits every node that may be part of a domain, in the order of names.
  using NodeVisitor = std::function<void(const api::Node& node, const NodeAvailability&)>;
  void VisitNodes(const NodeVisitor& visit) const;

  // Returns the status of the domain's condition MemoryShared, also where the installed CRD drops
  // conditions. Empty if nothing is known yet.
  std::string MemorySharedOf(const api::ComputeDomain& domain) const;

  // Returns why no daemon is replaced in any domain. Empty if the rollout continues.
  std::string RolloutStopped() const;

  // Sets the user name of this process at the API server, for messages about missing permissions.
  void SetUser(const std::string& user);
  // Returns whether that is news.
  bool SetPlacement(PlacementPolicy placement);
  void SetGpus(std::shared_ptr<const api::GpusByNode> by_node);
  // Sets the freshness of each cache.
  void SetViews(const Views& views);

  // Call it when the CRD may have changed: it may keep conditions that it dropped before. Returns
  // whether conditions were being dropped.
  bool TryConditionsAgain();

  // With --dry-run: logs each write once while it is wanted, and sends none.
  void SetDryRun() { dry_run_ = true; }

 private:
  void VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const;
  friend class ReconcilePass;

  // State of a domain between two passes.
  struct Remembered {
    Memory memory = {};
    std::vector<Expectation> expectations = {};
    base::Clock::TimePoint expect_until = {};
    // Last write of each child kind that the cache had not shown by `expect_until`.
    std::map<Kind, Expectation> unseen = {};
    std::set<ActionId> told = {};  // With --dry-run: the writes that the last pass wanted.
  };

  // Records that a permission is missing, or is granted. Logs it if that is new.
  base::Clock::TimePoint OnForbidden(const kube::Permission& permission);
  void OnGranted(const kube::Permission& permission);
  // Stops the rollout if `failed` says why. If it is empty, resumes a rollout that this domain
  // stopped.
  void StopOrResumeRollout(const std::string& uid, const std::string& failed);
  void AddSurveys(Observed& observed) const;
  // Records whether the installed CRD kept the conditions that were written.
  void OnConditions(bool kept);
  std::chrono::milliseconds UntilConditionsAreTried() const;
  struct Memories {
    std::map<std::string, Remembered> of = {};  // Key: UID.
    std::size_t replacing = 0;                  // Number of cliques in a rollout, of all domains.
    std::deque<std::string> waiting = {};  // UIDs that wait until `replacing` is lower, each once.

    void Keep(const std::string& uid, Remembered remembered);
    void Forget(const std::string& uid);
  };
  // Adds `waits`, if it is not empty, to the end of the domains that wait for the rollout. Then
  // returns the first domain of that list, and removes it. Empty if no domain waits, or if too many
  // cliques are in a rollout.
  std::string NextForRoom(const std::string& waits);
  Remembered Recall(const std::string& uid) const;
  Instant Now() const { return {clock_.Now(), clock_.Wall()}; }

  const Cache& cache_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const Rules rules_;
  bool dry_run_ = false;
  base::Guarded<Facts> facts_;
  base::Clock::TimePoint gpus_counted_ = {};  // Guarded by the lock of `facts_`.
  std::string rollout_stopped_by_;            // UID of the domain. Guarded by the lock of `facts_`.
  base::Guarded<Memories> memories_;
  const std::size_t replacing_max_;
  base::Guarded<MissingPermissions> missing_permissions_;
  // The installed CRD drops conditions, so they are not written before `until`. With several API
  // servers, one of them may use an older CRD for some seconds.
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

// What all passes share. Each part has its own lock.
#pragma once

#include <memory>
#include <string>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/pass/capacity_cache.h"
#include "controller/compute_domain/pass/domain_memories.h"
#include "controller/compute_domain/pass/installed_crd.h"
#include "controller/compute_domain/pass/missing_permissions.h"
#include "controller/compute_domain/pass/rollout_brake.h"
#include "controller/compute_domain/plan/planner.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"

namespace compute_domain {

// Thread-safe.
class SharedState {
 public:
  // `cache`, `clock` and `logger` must outlive it.
  SharedState(const Cache& cache, const Facts& facts, const base::Clock& clock,
              base::Logger& logger, const Rules& rules = kRules);

  // Returns the snapshot with which a pass begins.
  Observed Gather(const kube::Uid& uid) const;
  // Adds where the pods that wait may run, and what is free, to a snapshot that needs it.
  void AddSurveys(Observed& observed) const;

  std::shared_ptr<const CliqueCapacities> CountCapacity(std::chrono::seconds age_max) const;
  void VisitNodes(const AvailabilityVisitor& visit) const;
  // Returns the status of the domain's condition MemoryShared, also where the installed CRD drops
  // conditions. Empty if nothing is known yet.
  std::string MemorySharedOf(const api::ComputeDomain& domain) const;

  // Sets the user name of this process at the API server, for messages about missing permissions.
  void SetUser(const std::string& user);
  // Returns whether that is news.
  bool SetPlacement(PlacementPolicy placement);
  void SetGpus(std::shared_ptr<const api::GpusByNode> by_node);
  // Sets the freshness of each cache.
  void SetViews(const Views& views);
  // With --dry-run: logs each write once while it is wanted, and sends none. Call it before a pass.
  void SetDryRun() { dry_run_ = true; }
  bool dry_run() const { return dry_run_; }

  Instant Now() const { return {clock_.Now(), clock_.Wall()}; }
  const Cache& cache() const { return cache_; }
  base::Logger& logger() const { return logger_; }
  const Rules& rules() const { return rules_; }
  DomainMemories& memories() { return memories_; }
  RolloutBrake& rollout() { return rollout_; }
  InstalledCrd& crd() { return crd_; }
  MissingPermissions& permissions() { return permissions_; }

 private:
  struct Known {
    Facts facts = {};
    base::Clock::TimePoint gpus_counted = {};
  };
  Facts CurrentFacts() const;

  const Cache& cache_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const Rules rules_;
  bool dry_run_ = false;
  base::Guarded<Known> known_;
  DomainMemories memories_;
  RolloutBrake rollout_;
  InstalledCrd crd_;
  MissingPermissions permissions_;
  CapacityCache capacity_;
};

}  // namespace compute_domain

// The count of free nodes in each clique.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace compute_domain {

using AvailabilityVisitor = std::function<void(const api::Node& node, const NodeAvailability&)>;

// Thread-safe.
class CapacityCache {
 public:
  // Both must outlive it.
  CapacityCache(const Cache& cache, const base::Clock& clock) : cache_(cache), clock_(clock) {}

  // Returns the capacity of each clique, as counted at most `age_max` ago for any caller. A count
  // visits all nodes.
  std::shared_ptr<const CliqueCapacities> Count(const Facts& facts,
                                                std::chrono::seconds age_max) const;
  // Visits every node that may be part of a domain, in the order of names.
  void VisitNodes(const Facts& facts, const AvailabilityVisitor& visit) const;

 private:
  struct Counted {
    base::Clock::TimePoint at = {};
    std::shared_ptr<const CliqueCapacities> capacity = {};
  };
  const Cache& cache_;
  const base::Clock& clock_;
  mutable base::Guarded<Counted> counted_;
};

}  // namespace compute_domain

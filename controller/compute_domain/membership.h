// Who belongs to a domain, in which clique and under which index. Pure.
//
// Two manners live side by side in one clique. Of a pod that carries our marker the controller
// writes the entry: it gives the index and keeps it for as long as a pod of that node lives, and
// free for its node for a while after. Of any
// other pod the daemon itself writes the entry (NVIDIA's does): the controller never makes or
// changes it, and removes it only once a live read shows that its pod is gone.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"

namespace compute_domain {

// The labels that a clique has.
[[nodiscard]] json::Value CliqueLabels(const std::string& domain, const std::string& clique);

// Decides what the cliques of the domain should hold. REQUIRES: observed.domain.
[[nodiscard]] Membership PlanMembership(const Observed& observed, const Instant& now);

// The lowest index below `members_max` that is not in `used`; -1 if there is none.
[[nodiscard]] int LowestFreeIndex(const std::set<int>& used, int members_max);

}  // namespace compute_domain

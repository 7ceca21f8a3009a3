// The replacement of daemon pods that were made from another template than their DaemonSet has now.
// Pure.
//
// A daemon that restarts breaks what its peers share, so at most one node of a clique is without
// its daemon at a time, and none is taken from a clique that has lost a member. Pods of a DaemonSet
// that was made by somebody else are never replaced.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"

namespace compute_domain {

[[nodiscard]] Roll PlanRoll(const Observed& observed, const Membership& membership);

// Daemon pods that are due, as far as the cache shows.
[[nodiscard]] std::vector<std::string> FindOutdated(const Observed& observed);

}  // namespace compute_domain

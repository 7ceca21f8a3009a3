// The rule that makes a domain's children: the daemons' claim template, the DaemonSet and the
// workload's claim template. Pure.
#pragma once

#include <optional>
#include <vector>

#include "controller/compute_domain/plan.h"

namespace compute_domain {

[[nodiscard]] std::vector<Action> PlanChildren(const Observed& observed);

// A name that somebody else holds, as a failure for the domain's condition; empty: none.
[[nodiscard]] std::optional<Failure> FindTakenName(const Observed& observed);

}  // namespace compute_domain

// The rule for nodes that carry a living domain's label. Pure.
//
// The node's kubelet plugin sets the label when it prepares a channel claim, and takes it away when
// it unprepares the last. What stays behind because the plugin could not keeps the node from every
// other domain, so the controller takes it away; but only after the plugin had its time, and after
// a live read has shown that no claim of the domain is on the node.
#pragma once

#include "controller/compute_domain/plan.h"

namespace compute_domain {

// REQUIRES: observed.domain.
[[nodiscard]] Labels PlanLabels(const Observed& observed, const Instant& now);

// Labelled nodes on which none of `claims` is allocated.
[[nodiscard]] std::vector<std::string> IdleNodes(const Observed& observed,
                                                 const std::vector<api::Claim>& claims);

}  // namespace compute_domain

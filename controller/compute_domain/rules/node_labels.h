// The rule for nodes that carry a living domain's label. Pure.
//
// The node's kubelet plugin sets the label when it prepares a channel claim, and takes it away when
// it unprepares the last. What stays behind because the plugin could not keeps the node from every
// other domain, so the controller takes it away; but only after the plugin had its time, and after
// a live read has shown that no claim of the domain is on the node. A claim that is prepared
// between that read and the removal would lose its daemon, since the plugin found the label there:
// another live read follows, and if such a claim is there the label comes back. It comes back, too,
// to a node that pods of the domain have used without it for a minute: the reply to a removal may
// have been lost with the process that waited for it.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Which nodes keep the domain's label, and what must be done about the others.
struct NodeLabels {
  std::vector<Action> actions = {};
  RequeueAfter requeue_after = {};  // Then a node may have to lose it.
};

// REQUIRES: observed.domain.
[[nodiscard]] NodeLabels PlanNodeLabels(const Observed& observed, const Instant& now);

// Nodes that live, that pods use through one of `claims`, and that have no domain's label. Empty
// where that is not known.
[[nodiscard]] std::vector<std::string> UnlabelledNodes(
    const Observed& observed, const std::vector<api::ResourceClaim>& claims);

// Labelled nodes on which none of `claims` is allocated.
[[nodiscard]] std::vector<std::string> IdleNodes(const Observed& observed,
                                                 const std::vector<api::ResourceClaim>& claims);

// Labelled nodes whose daemons serve although no pod of the domain has had a channel there for 10
// s: they are no members. REQUIRES: observed.domain.
[[nodiscard]] std::vector<std::string> NodesWithoutPods(const Observed& observed,
                                                        const Instant& now);

}  // namespace compute_domain

// Rule for a domain's node labels, except during its deletion. Pure.
//
// A node's kubelet plugin sets the label when it prepares a channel claim, and removes it when it
// unprepares the last. A label that the plugin failed to remove is stale: it keeps the node from
// every other domain, so the controller removes it. It does so only after `label_hold`, and after a
// live read shows no claim of the domain on the node. The Node must not have changed since it was
// seen with the label: an old view shows a label that went and that a plugin set again.
//
// The label is restored in two cases. A claim may be prepared between that read and the removal,
// and its plugin has seen the label. So claims are read once more, and the label is restored if
// there is such a claim. It is also restored if pods of the domain have used a node without it for
// a minute. A restart of the controller may have lost the reply to a removal.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// The actions on node labels.
struct NodeLabels {
  std::vector<Action> actions = {};
  RequeueAfter requeue_after = {};  // Until a label may have to be removed or restored.
};

// REQUIRES: observed.domain.
NodeLabels PlanNodeLabels(const Observed& observed, const Instant& now);

// Returns ready nodes that pods use through one of `claims` and that have no domain's label. Empty
// if this is not known.
std::vector<std::string> UnlabelledNodes(const Observed& observed,
                                         const std::vector<api::ResourceClaim>& claims);

// Returns labelled nodes on which no claim of the domain is allocated, according to the cache.
std::vector<std::string> IdleNodes(const Observed& observed);

// Returns labelled nodes whose daemon serves although no pod of the domain has had a channel there
// for 10 s. They are not members. REQUIRES: observed.domain.
std::vector<std::string> NodesWithoutPods(const Observed& observed, const Instant& now);

}  // namespace compute_domain

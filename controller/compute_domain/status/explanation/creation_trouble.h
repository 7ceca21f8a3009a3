// Nodes that take part and have no daemon pod, and the read of the Events that say why. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/rules/analysis.h"

namespace compute_domain {

// REQUIRES: observed.domain, here and below.

// Returns the nodes that are not ready because a daemon pod has been missing for 30 s, or for 2 s
// if it had served. Not those that explain it themselves, such as a lost or tainted node. Empty if
// the domain has no DaemonSet.
std::vector<std::string> NodesWithoutDaemon(const Observed& observed, const Analysis& analysis,
                                            const Instant& now);

// The read that is due, and the time of the next.
struct CreationTrouble {
  std::optional<ReadDaemonSetEvents> read = {};
  RequeueAfter requeue_after = {};
};

// Repeats after 10 s, then after up to 5 minutes. Not while the permission is missing.
CreationTrouble PlanCreationTrouble(const Observed& observed, const Analysis& analysis,
                                    const Instant& now);

}  // namespace compute_domain

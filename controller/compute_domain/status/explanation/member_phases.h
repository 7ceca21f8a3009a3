// Phases of nodes that join or leave a domain. Pure.
// This only explains: no decision depends on it.
//
// It is normal that a daemon does not serve for 30 s after its start, and for 30 s after the last
// pod has ended. The limit is a time, not the first start of the daemon's container. Otherwise a
// daemon that no kubelet starts would never become a Warning. A container that cannot run ends the
// start at once.
//
// Normally a daemon ends because its node has lost the label, but the cache may show this later
// than the end. So a member that was ready and whose daemon ends counts as leaving for 2 s,
// whatever the cause is.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Returns the phase of each node that has the domain's label, has pods of the domain, or is a
// member. The memory has the result of the pass before. The phases do not change while the cache
// of nodes is stale.
std::map<std::string, MemberPhase> FindPhases(const Observed& observed, const Instant& now);

// Returns the phase of a node whose daemon normally does not serve yet or any more: kStarting or
// kLeaving. Empty otherwise.
std::optional<MemberPhase::Is> FindPassingPhase(const Observed& observed, const std::string& node,
                                                const Instant& now);

// Returns the time until the next such phase exceeds its limit.
RequeueAfter UntilPhasesEnd(const Observed& observed, const Instant& now);

}  // namespace compute_domain

// How far each node is that joins a domain or leaves it. It explains, and decides nothing. Pure.
//
// A daemon that has yet to serve, and one whose pods have ended, are the usual course for 30 s
// each. The bound is a time, not the first start of the daemon's container: a daemon that no
// kubelet starts would never become a Warning then. A container that cannot run ends the start at
// once.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// The phase of each node that carries the domain's label, that pods of the domain are on, or that
// is a member. `before` is what this returned in the pass before. Of an old view nothing follows:
// the phases stay.
[[nodiscard]] std::map<std::string, MemberPhase> FindPhases(
    const Observed& observed, const std::map<std::string, MemberPhase>& before, const Instant& now);

// The phase of the node while it is the usual course that its daemon does not serve: kStarting or
// kLeaving. Null otherwise.
[[nodiscard]] const MemberPhase* FindPassingPhase(const Observed& observed, const std::string& node,
                                                  const Instant& now);

// Until the next such phase has lasted too long.
[[nodiscard]] RequeueAfter UntilPhasesEnd(const Observed& observed, const Instant& now);

}  // namespace compute_domain

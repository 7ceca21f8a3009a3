// Turns actions into requests, and their replies into observed state.
//
// It neither sends nor waits. See writes.h and live_reads.h for the requests of each action.
#pragma once

#include <vector>

#include "controller/compute_domain/requests/live_reads.h"

namespace compute_domain {

// Returns the progress of an action before its first request.
ActionProgress StartAction(const Action& action, const Observed& observed);

// Returns the requests of the action, at least one. They may be sent in parallel. Pass as
// `progress` that of an action whose result has `goes_on`.
std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                      const ActionProgress& progress = {});

// Returns what the replies show and lead to. `replies` must have gone through kube::CheckStatus.
ActionResult HandleReplies(const Action& action, const Replies& replies, const Observed& observed,
                           ActionProgress& progress);

}  // namespace compute_domain

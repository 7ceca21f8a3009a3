// Turns actions into requests, and their replies into what was observed. The last place that knows
// what an action means to the API server; it neither sends nor waits. See writes.h and
// live_reads.h.
#pragma once

#include <vector>

#include "controller/compute_domain/requests/live_reads.h"

namespace compute_domain {

// Where an action begins.
[[nodiscard]] ActionProgress StartAction(const Action& action, const Observed& observed);

// Never empty. The requests of one action may travel side by side. `read` is where an action stands
// whose result said that it goes on.
[[nodiscard]] std::vector<http::Request> RequestsOf(const Action& action, const Observed& observed,
                                                    const ActionProgress& read = {});

// Puts what the replies say into `observed`, so that a later decision of the same pass sees it.
// `replies` went through kube::CheckStatus.
[[nodiscard]] ActionResult HandleReplies(const Action& action, const Replies& replies,
                                         Observed& observed, ActionProgress& read);

}  // namespace compute_domain

// Assembles a domain's status. Pure.
#pragma once

#include <optional>

#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

// Returns the status of a domain. Pass `wait` if it is being deleted.
api::DomainStatus DecideStatus(const StatusInput& input,
                               const std::optional<DeletionWait>& wait = {});

// Counts the members of each clique, and the ready ones. Members without fabric have the id "".
std::vector<api::CliqueSummary> SummarizeCliques(const std::vector<api::Member>& members);

// Returns what the condition MemoryShared says of the domain, for clusters whose CRD drops it.
Verdict DecideMemoryShared(const StatusInput& input);

// Returns the write of `status`. Empty if nothing changed, or if the last write was less than a
// window ago; then `requeue_after` is at most the rest of the window. A write that clears readiness
// waits less, by the number of members, because every watcher receives the whole object.
std::optional<WriteStatus> DecideStatusWrite(const Observed& observed,
                                             const api::DomainStatus& status, const Instant& now,
                                             RequeueAfter& requeue_after);

}  // namespace compute_domain

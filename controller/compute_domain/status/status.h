// Puts a domain's status together. Pure.
#pragma once

#include <optional>

#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

// The status of a domain; `wait` if it is being deleted.
[[nodiscard]] api::DomainStatus DecideStatus(const StatusInput& input,
                                             const std::optional<DeletionWait>& wait = {});

// The write of `status`. Empty if it says nothing new, or if the last write was less than a window
// ago: then `requeue_after` is at most the rest. A write that takes readiness away waits only as
// long as the size of the object asks for, because every watcher receives the whole object.
[[nodiscard]] std::optional<WriteStatus> DecideStatusWrite(const Observed& observed,
                                                           const api::DomainStatus& status,
                                                           const Instant& now,
                                                           RequeueAfter& requeue_after);

}  // namespace compute_domain

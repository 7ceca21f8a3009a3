// What a domain's status says. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/planner.h"
#include "controller/compute_domain/rules/analysis.h"

namespace compute_domain {

// A deletion that waits, and for whom; empty: no wait.
struct DeletionWait {
  std::chrono::seconds at_most{0};         // Since the deletion was asked for.
  std::vector<std::string> blockers = {};  // Such as "pods/train-0 (claim ns/train-0-channel-x2)".
  std::vector<std::string> pinned = {};    // By finalizers of others, for which there is no bound.
  // What blocks may end by itself within this: nobody is called before.
  std::chrono::milliseconds patience{0};
};

// The status of a domain that is not being deleted.
[[nodiscard]] api::DomainStatus DecideStatus(const Observed& observed, const Findings& findings,
                                             const Membership& membership, const Instant& now);
// And of one that is.
[[nodiscard]] api::DomainStatus DecideDeletionStatus(const Observed& observed,
                                                     const Findings& findings,
                                                     const Membership& membership,
                                                     const DeletionWait& wait, const Instant& now);

// The write of `status`, or none: if it says nothing new, or if the last write was less than a
// window ago; then `requeue_after` is set to the rest. What takes readiness away waits only for
// what the size of the object asks for: everybody who watches it gets it whole.
[[nodiscard]] std::optional<WriteStatus> DecideStatusWrite(
    const Observed& observed, const api::DomainStatus& status, const Instant& now,
    std::optional<std::chrono::milliseconds>& requeue_after);

}  // namespace compute_domain

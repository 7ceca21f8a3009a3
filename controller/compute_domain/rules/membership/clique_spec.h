// The desired content of one clique. Pure.
#pragma once

#include <set>
#include <vector>

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/membership/membership_index.h"

namespace compute_domain {

// Returns the clique with the desired content. `clique` has its present content; null if it does
// not exist. Sets `needs_daemons` of `membership`, and adds to its `without_index`.
api::Clique DecideClique(const MembershipIndex& index, const CliquePlace& place,
                         const api::Clique* clique, const Instant& now, Membership& membership);

// Returns the lowest index below `members_max` that is not in `used`; -1 if there is none.
int LowestFreeIndex(const std::set<int>& used, int members_max);

}  // namespace compute_domain

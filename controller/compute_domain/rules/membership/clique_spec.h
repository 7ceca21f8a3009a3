// What one clique should hold. Pure.
#pragma once

#include <set>
#include <vector>

#include "controller/compute_domain/rules/membership/membership_index.h"
#include "controller/compute_domain/rules/membership/membership_plan.h"

namespace compute_domain {

struct CliqueContent {
  std::vector<api::Member> daemons = {};
  std::vector<api::HeldIndex> held = {};
};

// `clique` is what there is of it; null: nothing. Sets `needs_daemons` of `membership` and adds
// to its `refused`.
[[nodiscard]] CliqueContent DecideCliqueContent(const MembershipIndex& index,
                                                const CliquePlace& place, const api::Clique* clique,
                                                const Instant& now, Membership& membership);

// The lowest index below `members_max` that is not in `used`; -1 if there is none.
[[nodiscard]] int LowestFreeIndex(const std::set<int>& used, int members_max);

}  // namespace compute_domain

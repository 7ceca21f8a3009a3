// Who is a member, and ready, as status says it. Pure.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/rules/membership/membership_index.h"
#include "controller/compute_domain/rules/membership/membership_plan.h"

namespace compute_domain {

using MemberByNode = std::map<std::string, api::Member>;

// An entry, in a clique of namespace `ns`, is Ready only while its node lives and its pod is ready,
// stays, and is where the entry says. A pod that the cache has not shown is no reason: a cache that
// lags would take a whole domain down.
void AddMember(const MembershipIndex& index, const std::string& ns, api::Member member,
               MemberByNode& members);

// Adds those whose daemons keep no clique, and write their entries into status themselves (B57).
void AddWrittenByDaemons(const MembershipIndex& index, MemberByNode& members);

// Adds the members that only status still shows and that have not left. Sets `needs_daemons` of
// `membership`.
void KeepMembers(const MembershipIndex& index, MemberByNode& members, Membership& membership);

}  // namespace compute_domain

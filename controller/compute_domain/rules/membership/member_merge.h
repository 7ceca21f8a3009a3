// Which nodes are members, and ready, according to status. Pure.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/membership/membership_index.h"

namespace compute_domain {

using MemberByNode = std::map<std::string, api::Member>;

// Adds an entry of a clique in namespace `ns`. The member is ready only if its node is not lost,
// and its pod is ready and not being deleted. The pod must also have the entry's address.
// Exception: a member whose pod the cache lacks keeps its readiness. Otherwise one stale cache
// would clear the readiness of a whole domain.
void AddMember(const MembershipIndex& index, const std::string& ns, api::Member member,
               MemberByNode& members);

// Adds members without a clique. B57 (NVIDIA's daemons write their entries into status if their
// feature gate ComputeDomainCliques is off).
void AddWrittenByDaemons(const MembershipIndex& index, MemberByNode& members);

// Adds members that only status still shows, unless they have left. Sets `needs_daemons` of
// `membership`.
void KeepMembers(const MembershipIndex& index, MemberByNode& members, Membership& membership);

}  // namespace compute_domain

// The write that gives a clique its desired content. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/rules/membership/clique_spec.h"

namespace compute_domain {

// Returns the labels that each clique must have.
json::Value CliqueLabels(const kube::Uid& domain_uid, const std::string& clique);

// Returns the write that gives the clique the content `next`. Empty if it has that content, or
// cannot be written now. `clique` is null if it does not exist. Sets `needs_owner` of `membership`
// if the domain must be read live first.
std::optional<Action> WriteOf(const MembershipIndex& index, const CliquePlace& place,
                              const api::Clique* clique, const api::Clique& next,
                              Membership& membership);

// Returns whether the clique is known to list the member with this index.
bool IsWritten(const Observed& observed, const CliquePlace& place, const api::Clique* clique,
               const api::Member& member);

}  // namespace compute_domain

// The write that makes a clique hold what it should. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/rules/membership/clique_spec.h"

namespace compute_domain {

// The labels that a clique has.
[[nodiscard]] json::Value CliqueLabels(const std::string& domain, const std::string& clique);

// Empty: it holds `next`, or cannot be written now. `clique` is null if there is none yet. Sets
// `needs_owner` of `membership`.
[[nodiscard]] std::optional<Action> WriteOf(const MembershipIndex& index, const CliquePlace& place,
                                            const api::Clique* clique, const CliqueContent& next,
                                            Membership& membership);

// Whether the clique holds the member, under this index, as far as we know.
[[nodiscard]] bool IsWritten(const Observed& observed, const CliquePlace& place,
                             const api::Clique* clique, const api::Member& member);

}  // namespace compute_domain

// What is free in each clique, and whether a domain that waits finds room. It explains, and decides
// nothing. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

struct NodeAvailability {
  enum class State { kFree, kReserved, kHeld, kUnusable };
  State state = State::kFree;
  std::string why = {};  // Empty: it is free, or carries the label of the domain that holds it.
};

[[nodiscard]] std::string_view ToString(NodeAvailability::State state);

// Empty: the node is in no clique and nothing of our driver is there.
[[nodiscard]] std::optional<NodeAvailability> AvailabilityOf(const api::Node& node,
                                                             const NodeContext& context,
                                                             const Facts& facts);

// Adds the node to the counts of its clique; "" is that of nodes without fabric.
void Count(const std::string& clique, const NodeAvailability& availability,
           CliqueCapacities& capacity);

// Whether pods of the domain wait of which the scheduler has said why, so that free nodes
// are counted. REQUIRES: observed.domain, here and below.
[[nodiscard]] bool NeedsCapacity(const Observed& observed);

// A sentence, beginning with a space; empty: no clique is known.
[[nodiscard]] std::string DescribeCapacity(const Observed& observed);

// Why the pods that wait cannot follow the first ones into their clique; empty: they need not, or
// it has room.
[[nodiscard]] std::optional<Failure> FindFullClique(const Observed& observed);

}  // namespace compute_domain

// Free nodes of each clique, and whether pending pods find room. Pure.
// This only explains: no decision depends on it.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/status/explanation/advice.h"

namespace compute_domain {

struct NodeAvailability {
  enum class State { kFree, kReserved, kHeld, kUnusable };
  State state = State::kFree;
  std::string why = {};  // Empty if the node is free, or has the label of the domain that holds it.
};

std::string_view ToString(NodeAvailability::State state);

// Returns the state of the node. Empty if the node has no clique, no domain, no allocated channel
// and no ResourceSlice of the driver.
std::optional<NodeAvailability> AvailabilityOf(const api::Node& node, const NodeContext& context,
                                               const Facts& facts);

// Adds the node to the counts of its clique; "" stands for nodes without fabric.
void Count(const std::string& clique, const NodeAvailability& availability,
           CliqueCapacities& capacity);

// Returns how many nodes the clique has, whatever their state.
int NodesOf(const CliqueCapacity& clique);

// Returns whether nodes must be counted: pods of the domain are pending, and the scheduler has said
// why, or they are in several cliques and should not be. REQUIRES: observed.domain, here and below.
bool NeedsCapacity(const Observed& observed);

// Returns a sentence that begins with a space. Empty if no clique is known.
std::string DescribeCapacity(const Observed& observed);

// Returns the clique in which all pods of the domain must run. Empty if there is none yet, or if
// they need not.
std::string CliqueOfPods(const Observed& observed);

// Returns why pending pods cannot join the other pods in their clique. Empty if the clique has
// room, or if they may run elsewhere. `survey` says where they may run. Null: anywhere.
std::optional<Shortage> FindFullClique(const Observed& observed,
                                       const NodeSurvey* survey = nullptr);

}  // namespace compute_domain

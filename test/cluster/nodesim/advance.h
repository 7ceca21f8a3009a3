// Decides what a node does next: the writes, and the next turn.
//
// The input is the node's own state and the state of the API server. Pure except for the node's
// state: no IO, no clock, no threads. Level driven: call it at any time and any number of times.
// Writes that were not sent are planned again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

struct Plan {
  std::vector<Action> actions = {};  // Independent: may be sent in parallel.
  TimePoint wake = TimePoint::max();
};

Plan Advance(NodeState& node, const Cluster& cluster, const Settings& settings,
             Addresses& addresses, TimePoint now, WallTime wall);

// Returns the request that the node's Lease needs now. Empty if none. It is separate because a
// kubelet's heartbeat does not wait for its pods. Pure.
std::optional<Action> Beat(const NodeState& node, const Cluster& cluster, TimePoint now);

// The machine reboots with `boot_id`: it loses every process and the plugin's checkpoint.
void Reboot(NodeState& node, std::string boot_id, WallTime wall);
// Power or network is back, and everything continues.
void Revive(NodeState& node);
// Moves the node to another clique, or to none if `clique_id` is empty. Its daemons restart.
void Move(NodeState& node, std::string clique_id);
// Ends the pods that run without their objects, as in a crash.
void ReapOrphans(NodeState& node);

}  // namespace nodesim

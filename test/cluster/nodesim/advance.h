// Decides what a node does next: from what it remembers and what the API server shows, to the
// writes that are due now and the time to look again.
//
// Pure but for the state it is given: no IO, no clock, no threads. Level driven: it may be called
// at any time and any number of times, and what was not written is planned again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

struct Plan {
  std::vector<Action> actions = {};  // Independent of each other: may be sent side by side.
  TimePoint wake = TimePoint::max();
};

[[nodiscard]] Plan Advance(NodeState& node, const Cluster& cluster, const Settings& settings,
                           Addresses& addresses, TimePoint now, WallTime wall);

// What the node's Lease needs now, if anything. Apart from the rest, because a kubelet's heartbeat
// does not wait for its pods. Pure.
[[nodiscard]] std::optional<Action> Beat(const NodeState& node, const Cluster& cluster,
                                         TimePoint now);

// The machine comes up again with `boot_id`: every process is gone, and so is the plugin's
// checkpoint.
void Reboot(NodeState& node, std::string boot_id, WallTime wall);
// Power or network is back, and everything goes on as it was.
void Revive(NodeState& node);
// The node is in another clique from now on; its daemons restart. Empty: no fabric.
void Move(NodeState& node, std::string clique_id);
// The pods that went on without their objects end, as in a crash.
void ReapOrphans(NodeState& node);

}  // namespace nodesim

// One turn of one node, shared by the files that decide.
//
// Only *.cc files of this folder use it.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/advance.h"

namespace nodesim {

struct Turn {
  NodeState& node;
  const Cluster& cluster;
  const Settings& settings;
  Addresses& addresses;
  const TimePoint now;
  const WallTime wall;
  std::shared_ptr<const Node> object = {};  // Null if it does not exist.
  Plan plan = {};
  bool writes_node = false;  // A write of labels or taints is planned; at most one is.

  void Do(Action action) { plan.actions.push_back(std::move(action)); }
  // Schedules the next turn, at `when` or earlier.
  void At(TimePoint when) {
    if (when > now) plan.wake = std::min(plan.wake, when);
  }
  // Returns whether `backoff` allows a write of an object with that version now. If not, schedules
  // a turn for when it does.
  bool MayWrite(const WriteBackoff& backoff, std::string_view version) {
    if (backoff.MayWrite(now, version)) return true;
    At(backoff.Next(version));
    return false;
  }
};

// heartbeat.cc
void AdvanceNode(Turn& turn);
void AdvanceSlices(Turn& turn);

// plugin.cc. Returns true once it is done. Until then the reason is in the node's ClaimRun.
bool Prepare(Turn& turn, const Claim& claim);
bool Unprepare(Turn& turn, const kube::Uid& claim);

// How long an ending daemon tries to remove its entry from the clique.
inline constexpr std::chrono::seconds kLeaveBudget{10};

// daemon.cc. `pod` is null if its object does not exist.
std::optional<Daemon> StartDaemon(const Turn& turn, const PodRun& run, const Pod& pod);
void AdvanceDaemon(Turn& turn, PodRun& run, const Pod* pod);
void LeaveClique(Turn& turn, PodRun& run);

// own_daemon.cc. REQUIRES: the daemon is the product's.
OwnDaemon StartOwnDaemon(const Turn& turn, const PodRun& run, const Daemon& daemon);
// Continues a daemon of an earlier simulator, from its state in the API server.
void AdoptOwnDaemon(const Turn& turn, const Pod& pod, OwnDaemon& own);
void AdvanceOwnDaemon(Turn& turn, PodRun& run);
// Stops it. Returns whether it has stopped.
bool StopOwnDaemon(Turn& turn, PodRun& run);

// kubelet.cc
void AdvancePods(Turn& turn);

}  // namespace nodesim

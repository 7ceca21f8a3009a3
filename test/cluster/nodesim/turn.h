// One look at one node. Shared by the parts that decide; nothing outside this folder's *.cc needs
// it.
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
  std::shared_ptr<const Node> object = {};  // Null: there is none.
  Plan plan = {};
  bool writes_node = false;  // One write of labels or taints at a time.

  void Do(Action action) { plan.actions.push_back(std::move(action)); }
  // Look again then, at the latest.
  void At(TimePoint when) {
    if (when > now) plan.wake = std::min(plan.wake, when);
  }
  // Whether `backoff` lets an object of that version be written now; if not, looks again when it
  // does.
  [[nodiscard]] bool MayWrite(const WriteBackoff& backoff, std::string_view version) {
    if (backoff.MayWrite(now, version)) return true;
    At(backoff.Next(version));
    return false;
  }
};

// heartbeat.cc
void AdvanceNode(Turn& turn);
void AdvanceSlices(Turn& turn);

// plugin.cc: true once it is done; until then the reason is in the node's ClaimRun.
[[nodiscard]] bool Prepare(Turn& turn, const Claim& claim);
[[nodiscard]] bool Unprepare(Turn& turn, const kube::Uid& claim);

// How long a daemon that ends tries to take its entry out of the clique.
inline constexpr std::chrono::seconds kLeaveBudget{10};

// daemon.cc. `pod` is null if its object is gone.
[[nodiscard]] std::optional<Daemon> StartDaemon(const Turn& turn, const PodRun& run,
                                                const Pod& pod);
void AdvanceDaemon(Turn& turn, PodRun& run, const Pod* pod);
void LeaveClique(Turn& turn, PodRun& run);

// own_daemon.cc. REQUIRES: the daemon is the product's.
[[nodiscard]] OwnDaemon StartOwnDaemon(const Turn& turn, const PodRun& run, const Daemon& daemon);
// One that ran before this simulator did: as the API server says.
void AdoptOwnDaemon(const Turn& turn, const Pod& pod, OwnDaemon& own);
void AdvanceOwnDaemon(Turn& turn, PodRun& run);
// Tells it to stop; whether it has.
[[nodiscard]] bool StopOwnDaemon(Turn& turn, PodRun& run);

// kubelet.cc
void AdvancePods(Turn& turn);

}  // namespace nodesim

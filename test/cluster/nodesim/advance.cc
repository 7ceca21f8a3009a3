#include "test/cluster/nodesim/advance.h"

#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

using Stage = PodRun::Stage;

constexpr int kExitUnknown = 137;  // What the kubelet says of a container that a reboot has ended.

void LoseContainers(PodRun& run, WallTime wall) {
  const bool may_restart = run.restart != Pod::Restart::kNever || !run.has_started;
  run.claims.clear();
  run.daemon.reset();
  if (run.ready) run.ready_changed = wall;
  run.ready = false;
  if (run.stage >= Stage::kReporting) return;
  if (run.stage >= Stage::kStopping || !may_restart) {
    if (run.stage < Stage::kUnpreparing) {
      run.exit_code = kExitUnknown;
      run.ended = wall;
    }
    run.stage = Stage::kReporting;
    return;
  }
  run.stage = Stage::kPreparing;
  if (run.has_started) ++run.restarts;
  run.has_started = false;
  run.ip.clear();
}

void StartKubelet(NodeState& node) {
  node.alive = true;
  node.removed = false;
  node.registered = false;
  node.whole_status_due = true;
  node.tainted_since.reset();
  node.lease = {.created = node.lease.created};
}

}  // namespace

Plan Advance(NodeState& node, const Cluster& cluster, const Settings& settings,
             Addresses& addresses, TimePoint now, WallTime wall) {
  if (!node.alive) return {};
  Turn turn = {.node = node,
               .cluster = cluster,
               .settings = settings,
               .addresses = addresses,
               .now = now,
               .wall = wall,
               .object = cluster.GetNode(node.identity.name)};
  AdvanceNode(turn);
  AdvancePods(turn);
  AdvanceSlices(turn);
  node.adopt = false;
  return std::move(turn.plan);
}

void Reboot(NodeState& node, std::string boot_id, WallTime wall) {
  StartKubelet(node);
  node.boot_id = std::move(boot_id);
  node.wipe_slices = true;
  node.daemons_stalled = false;
  node.plugin_stopped = false;
  node.claims.clear();
  std::erase_if(node.pods,
                [](const auto& entry) { return entry.second.gone || entry.second.orphan; });
  for (auto& [uid, run] : node.pods) LoseContainers(run, wall);
}

void Revive(NodeState& node) { StartKubelet(node); }

void Move(NodeState& node, std::string clique_id) {
  node.clique_id = std::move(clique_id);
  for (auto& [uid, run] : node.pods) {
    if (run.daemon && run.stage == Stage::kRunning) run.daemon->restarting = true;
  }
}

void ReapOrphans(NodeState& node) {
  for (auto& [uid, run] : node.pods) run.orphan = false;
}

}  // namespace nodesim

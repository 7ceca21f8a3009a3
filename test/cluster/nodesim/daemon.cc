// The IMEX daemon of a daemon pod, as far as the API server sees it. Where daemons
// write membership it keeps its own entry in the clique, and is played here; else own_daemon.cc has
// the product's.
#include <algorithm>
#include <set>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

kube::ObjectKey CliqueKey(const PodRun& run) {
  return {.ns = run.key.ns, .name = run.daemon->domain + "." + run.daemon->clique_id};
}

CliqueOwner OwnerOf(const PodRun& run) {
  return {.reference = {.api_version = "v1", .kind = "Pod", .name = run.key.name, .uid = run.uid}};
}

void CreateItsClique(Turn& turn, const PodRun& run) {
  const Daemon& daemon = *run.daemon;
  Clique clique;
  clique.meta.key = CliqueKey(run);
  clique.labels = {{std::string(kDomainLabel), daemon.domain},
                   {std::string(kCliqueIdLabel), daemon.clique_id}};
  clique.owners = {OwnerOf(run)};
  turn.Do(CreateClique{.pod = run.uid, .clique = std::move(clique)});
}

int LowestFreeIndex(const Clique& clique) {
  std::set<int> taken;
  for (const Member& member : clique.daemons) taken.insert(member.index.value_or(0));
  int index = 0;
  while (taken.contains(index)) ++index;
  return index;
}

// Puts its entry right; false if there is nothing to change. Readiness is left alone when only the
// address changes.
bool Join(const NodeState& node, PodRun& run, Clique& clique) {
  Daemon& daemon = *run.daemon;
  const std::string& name = node.identity.name;
  auto own = std::ranges::find(clique.daemons, name, &Member::node);
  if (own != clique.daemons.end() && own->ip == run.ip) {
    const std::string status = run.last_seen_ready ? "Ready" : "NotReady";
    if (own->status == status) return false;
    own->status = status;
    return true;
  }
  if (own == clique.daemons.end()) {
    const int index = LowestFreeIndex(clique);
    if (index >= daemon.members_max) {
      daemon.problem = "no index below " + std::to_string(daemon.members_max) + " is free";
      return false;
    }
    clique.daemons.push_back(
        {.node = name, .clique_id = daemon.clique_id, .index = index, .status = "NotReady"});
    own = std::prev(clique.daemons.end());
  }
  own->ip = run.ip;
  const CliqueOwner owner = OwnerOf(run);
  if (std::ranges::find(clique.owners, owner) == clique.owners.end()) {
    clique.owners.push_back(owner);
  }
  return true;
}

// Where the daemon writes: from its cache, with the version it has seen; a conflict is tried again.
void KeepOwnEntry(Turn& turn, PodRun& run) {
  Daemon& daemon = *run.daemon;
  const auto clique = turn.cluster.GetClique(CliqueKey(run));
  daemon.problem.clear();
  if (!clique) {
    if (turn.MayWrite(daemon.clique_backoff, "")) CreateItsClique(turn, run);
    return;
  }
  Clique next = *clique;
  if (!Join(turn.node, run, next)) return;
  if (turn.MayWrite(daemon.clique_backoff, clique->meta.resource_version)) {
    turn.Do(UpdateClique{.pod = run.uid, .clique = std::move(next)});
  }
}

bool HasPlace(const Turn& turn, const PodRun& run) {
  const auto clique = turn.cluster.GetClique(CliqueKey(run));
  const Member* own = clique == nullptr ? nullptr : clique->Find(turn.node.identity.name);
  return own != nullptr && own->ip == run.ip && own->index.value_or(-1) >= 0;
}

bool IsHealthy(Turn& turn, PodRun& run) {
  const Daemon& daemon = *run.daemon;
  if (turn.node.daemons_stalled || daemon.restarting || !daemon.labelled) return false;
  if (!daemon.clique_id.empty() && !daemon.member_since) return false;
  if (daemon.own && !daemon.clique_id.empty() && !daemon.own->observed.imex.runs) return false;
  const TimePoint healthy_at =
      daemon.clique_id.empty() ? run.ready_at : *daemon.member_since + turn.settings.daemon_delay;
  turn.At(healthy_at);
  return turn.now >= healthy_at;
}

bool IsOurs(const Turn& turn, const Daemon& daemon) {
  return daemon.controller_writes && !turn.settings.daemons_elsewhere;
}

void RestartIn(Turn& turn, PodRun& run) {
  Daemon& old = *run.daemon;
  LeaveClique(turn, run);
  if (!run.give_up_leaving_at) run.give_up_leaving_at = turn.now + kLeaveBudget;
  if (!old.left && turn.now < *run.give_up_leaving_at) return turn.At(*run.give_up_leaving_at);
  run.give_up_leaving_at.reset();
  run.daemon = Daemon{.domain = old.domain,
                      .clique_id = turn.node.clique_id,
                      .controller_writes = old.controller_writes,
                      .members_max = old.members_max};
  if (IsOurs(turn, *run.daemon)) run.daemon->own = StartOwnDaemon(turn, run, *run.daemon);
  ++run.restarts;
  run.started = turn.wall;
  run.ready_at = turn.now + turn.settings.ready_delay;
}

}  // namespace

std::optional<Daemon> StartDaemon(const Turn& turn, const PodRun& run, const Pod& pod) {
  for (const kube::Uid& uid : run.claims) {
    const auto claim = turn.node.claims.find(uid);
    if (claim == turn.node.claims.end()) continue;
    for (const Grant& grant : claim->second.grants) {
      if (grant.kind != DeviceKind::kDaemon) continue;
      Daemon daemon = {.domain = grant.domain,
                       .clique_id = turn.node.clique_id,
                       .controller_writes = pod.controller_writes_membership,
                       .members_max = pod.members_max};
      if (IsOurs(turn, daemon)) daemon.own = StartOwnDaemon(turn, run, daemon);
      return daemon;
    }
  }
  return std::nullopt;
}

void AdvanceDaemon(Turn& turn, PodRun& run, const Pod* pod) {
  if (run.daemon->restarting) RestartIn(turn, run);
  Daemon& daemon = *run.daemon;
  const bool elsewhere = turn.settings.daemons_elsewhere;
  if (daemon.own) AdvanceOwnDaemon(turn, run);
  // Once and for all: a daemon does not look at its label again.
  if (pod != nullptr && pod->clique_label == daemon.clique_id) daemon.labelled = true;
  if (pod != nullptr && !daemon.labelled && !elsewhere && !daemon.own &&
      turn.MayWrite(daemon.label_backoff, pod->meta.resource_version)) {
    turn.Do(LabelPod{.key = run.key, .uid = run.uid, .clique_id = daemon.clique_id});
  }
  if (!daemon.restarting && daemon.labelled && !daemon.clique_id.empty()) {
    if (!daemon.controller_writes && !elsewhere) KeepOwnEntry(turn, run);
    if (!daemon.member_since && HasPlace(turn, run)) daemon.member_since = turn.now;
  }
  const bool ready = IsHealthy(turn, run);
  if (ready != run.ready) run.ready_changed = turn.wall;
  run.ready = ready;
}

void LeaveClique(Turn& turn, PodRun& run) {
  Daemon& daemon = *run.daemon;
  if (daemon.left) return;
  if (turn.settings.daemons_elsewhere || daemon.own) {
    daemon.left = !daemon.own || StopOwnDaemon(turn, run);
    return;
  }
  const auto clique = turn.cluster.GetClique(CliqueKey(run));
  Clique next = clique == nullptr ? Clique() : *clique;
  const auto removed =
      std::erase_if(next.daemons, [&](const Member& member) { return member.ip == run.ip; });
  // Whatever this daemon wrote last must have been read back, or an entry of ours could be missed.
  const std::string version = clique == nullptr ? "" : clique->meta.resource_version;
  const bool stale =
      !daemon.clique_backoff.HasSeen(version) && turn.now < daemon.clique_backoff.Next(version);
  if (daemon.clique_id.empty() || (removed == 0 && !stale)) {
    daemon.left = true;
  } else if (turn.MayWrite(daemon.clique_backoff, version)) {
    turn.Do(UpdateClique{.pod = run.uid, .clique = std::move(next)});
  }
}

}  // namespace nodesim

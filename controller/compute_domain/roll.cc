#include "controller/compute_domain/roll.h"

#include <algorithm>
#include <map>
#include <set>

#include "controller/compute_domain/children.h"
#include "controller/compute_domain/membership.h"

namespace compute_domain {

namespace {

using api::DaemonPod;

bool IsOutdated(const DaemonPod& pod, const std::string& hash) {
  return pod.template_hash != hash && !pod.terminal && !pod.meta.deleting;
}

// The nodes of one clique, as live pods, labels and status show them.
struct CliqueView {
  std::vector<const DaemonPod*> outdated = {};
  std::set<std::string> away = {};  // Nodes without a daemon that serves.
};

// Of each node its clique, by whatever knows: its pod, its label, its last entry in status.
std::map<std::string, std::string> CliquesOfNodes(const Observed& observed,
                                                  const std::vector<DaemonPod>& pods) {
  std::map<std::string, std::string> cliques;
  for (const DaemonPod& pod : pods) {
    if (pod.clique) cliques.emplace(pod.node, *pod.clique);
  }
  for (const api::Node& node : observed.children.labelled_nodes) {
    if (!node.clique.empty()) cliques.emplace(node.meta.key.name, node.clique);
  }
  for (const api::Member& member : observed.domain->status.nodes) {
    cliques.emplace(member.node, member.clique);
  }
  return cliques;
}

// The pod of the clique to replace now; null: none may go.
const DaemonPod* Choose(const Observed& observed, const CliqueView& clique) {
  if (clique.outdated.empty() || clique.away.size() > 1) return nullptr;
  if (clique.away.empty()) {
    return *std::ranges::min_element(clique.outdated, {},
                                     [](const DaemonPod* pod) { return pod->node; });
  }
  // One is away already. If it is outdated itself, what it waits for may be its replacement.
  const std::string& node = *clique.away.begin();
  const auto its = std::ranges::find(clique.outdated, node, &DaemonPod::node);
  return its == clique.outdated.end() || IsLost(observed, node) ? nullptr : *its;
}

// Nodes of the domain without a daemon that serves.
std::set<std::string> NodesAway(const Observed& observed, const Membership& membership,
                                const std::vector<DaemonPod>& pods) {
  std::set<std::string> nodes;
  for (const api::Node& node : observed.children.labelled_nodes) nodes.insert(node.meta.key.name);
  for (const api::Member& member : membership.members) nodes.insert(member.node);
  for (const DaemonPod& pod : pods) {
    if (Serves(pod) && !IsLost(observed, pod.node)) nodes.erase(pod.node);
  }
  return nodes;
}

std::vector<Action> PodsToReplace(const Observed& observed, const Membership& membership,
                                  const std::vector<DaemonPod>& pods) {
  std::vector<Action> deletions;
  const std::string hash = TemplateHash(observed);
  const bool any =
      std::ranges::any_of(pods, [&](const auto& pod) { return IsOutdated(pod, hash); });
  if (hash.empty() || !any) return deletions;
  const auto replace = [&](const DaemonPod& pod) {
    deletions.emplace_back(
        Delete{.kind = Kind::kDaemonPod, .key = pod.meta.key, .uid = pod.meta.uid});
  };
  const auto cliques = CliquesOfNodes(observed, pods);
  std::map<std::string, CliqueView> views;
  std::set<std::string> unknown;  // Nodes that are away, and whose clique nobody knows.
  for (const std::string& node : NodesAway(observed, membership, pods)) {
    const auto it = cliques.find(node);
    (it == cliques.end() ? unknown : views[it->second].away).insert(node);
  }
  for (const DaemonPod& pod : pods) {
    if (!IsOutdated(pod, hash)) continue;
    const auto it = cliques.find(pod.node);
    if (it != cliques.end()) {
      views[it->second].outdated.push_back(&pod);
    } else if (!pod.ready && !IsLost(observed, pod.node)) {
      // It never came so far as to join a clique: nobody relies on it.
      unknown.erase(pod.node);
      replace(pod);
    }
  }
  for (auto& [id, view] : views) {
    view.away.insert(unknown.begin(), unknown.end());
    if (const DaemonPod* pod = Choose(observed, view)) replace(*pod);
  }
  return deletions;
}

}  // namespace

std::vector<std::string> FindOutdated(const Observed& observed) {
  const std::string hash = TemplateHash(observed);
  std::vector<std::string> pods;
  if (hash.empty()) return pods;
  for (const DaemonPod& pod : observed.children.daemon_pods) {
    if (IsOutdated(pod, hash)) pods.push_back(pod.meta.key.name);
  }
  std::ranges::sort(pods);
  return pods;
}

Roll PlanRoll(const Observed& observed, const Membership& membership) {
  // Most passes end here, or find that somebody is away: only then is it worth a live read.
  if (PodsToReplace(observed, membership, observed.children.daemon_pods).empty()) return {};
  if (!observed.evidence.daemon_pods) return {.needs_daemon_pods = true};
  return {.actions = PodsToReplace(observed, membership, *observed.evidence.daemon_pods)};
}

}  // namespace compute_domain

#include "controller/compute_domain/model/daemon_pods.h"

#include <tuple>

#include "pkg/base/find.h"

namespace compute_domain {

using api::DaemonPod;

namespace {

bool IsBetter(const DaemonPod& a, const DaemonPod& b) {
  const auto rank = [](const DaemonPod& pod) {
    return std::tie(pod.meta.creation_timestamp, pod.meta.uid);
  };
  if (a.meta.deleting != b.meta.deleting) return b.meta.deleting;
  return rank(a) > rank(b);
}

}  // namespace

NodeLife LifeOf(const Observed& observed, const std::string& node) {
  const api::Node* const cached = base::Find(observed.nodes, node);
  if (cached != nullptr && cached->ready) return NodeLife::kLives;
  const bool is_current = observed.facts.views.IsFresh(Kind::kNode);
  return is_current ? NodeLife::kLost : NodeLife::kNotKnown;
}

bool IsLost(const Observed& observed, const std::string& node) {
  return LifeOf(observed, node) == NodeLife::kLost;
}

bool HasEnded(const Observed& observed, const std::string& node) {
  const NodeSeen* const read = base::Find(observed.evidence.nodes, node);
  if (read == nullptr || *read == NodeSeen::kReady) return false;
  return *read == NodeSeen::kMissing || observed.memory.lost_for_long.contains(node);
}

bool MayHaveEnded(const Observed& observed, const std::string& node) {
  if (observed.evidence.nodes.contains(node)) return false;
  const bool is_missing = IsLost(observed, node) && !observed.nodes.contains(node);
  return is_missing || observed.memory.lost_for_long.contains(node);
}

bool Serves(const DaemonPod& pod) { return pod.ready && !pod.meta.deleting; }

bool IsSoughtElsewhere(const DaemonPod& pod, const api::Member& entry) {
  const bool writes_itself = !pod.controller_writes && pod.clique == entry.clique;
  return writes_itself && !pod.ip.empty() && pod.ip != entry.ip;
}

bool MayBeIn(const DaemonPod& pod, const std::string& clique) {
  return !pod.clique || *pod.clique == clique;
}

bool MayBeIn(const DaemonPod& pod, const CliquePlace& clique) {
  return pod.meta.key.ns == clique.ns && MayBeIn(pod, clique.id);
}

PodByNode PodsThatCount(const Observed& observed) {
  std::map<kube::Uid, std::string> our_daemon_sets;  // Namespace of each. Key: UID.
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    our_daemon_sets[set.meta.uid] = set.meta.key.ns;
  }
  PodByNode pods;
  for (const DaemonPod& pod : observed.children.daemon_pods) {
    const kube::OwnerReference* owner = pod.meta.ControllerOwner();
    if (owner == nullptr) continue;
    const bool is_unknown = observed.facts.views.IsUnknown(Kind::kDaemonSet);
    const std::string* const ns = base::Find(our_daemon_sets, owner->uid);
    const bool ours = is_unknown || (ns != nullptr && *ns == pod.meta.key.ns);
    if (!ours || pod.node.empty() || pod.terminal) continue;
    const DaemonPod*& best = pods[pod.node];
    if (best == nullptr || IsBetter(pod, *best)) best = &pod;
  }
  return pods;
}

}  // namespace compute_domain

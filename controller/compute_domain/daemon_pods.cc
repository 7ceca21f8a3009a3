#include "controller/compute_domain/daemon_pods.h"

#include <set>
#include <tuple>

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
  const auto it = observed.nodes.find(node);
  if (it != observed.nodes.end()) return it->second.ready ? NodeLife::kLives : NodeLife::kLost;
  return observed.facts.views.nodes == Sight::kNone ? NodeLife::kNotKnown : NodeLife::kLost;
}

bool IsLost(const Observed& observed, const std::string& node) {
  return LifeOf(observed, node) == NodeLife::kLost;
}

bool Serves(const DaemonPod& pod) { return pod.ready && !pod.meta.deleting; }

bool MayBeIn(const DaemonPod& pod, const std::string& clique) {
  return !pod.clique || *pod.clique == clique;
}

PodByNode PodsThatCount(const Observed& observed) {
  std::set<std::string> our_daemon_sets;
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    our_daemon_sets.insert(set.meta.uid);
  }
  PodByNode pods;
  for (const DaemonPod& pod : observed.children.daemon_pods) {
    const kube::OwnerReference* owner = pod.meta.ControllerOwner();
    const bool ours = owner != nullptr && our_daemon_sets.contains(owner->uid);
    if (!ours || pod.node.empty() || pod.terminal) continue;
    const DaemonPod*& best = pods[pod.node];
    if (best == nullptr || IsBetter(pod, *best)) best = &pod;
  }
  return pods;
}

}  // namespace compute_domain

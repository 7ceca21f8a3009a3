// What a daemon pod says of its node. Pure.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

// What is known of a node. Of one that an old view lacks, or shows as not ready, nothing is.
enum class NodeLife { kLives, kLost, kNotKnown };
[[nodiscard]] NodeLife LifeOf(const Observed& observed, const std::string& node);

// Whether the node is known to be gone or not ready.
[[nodiscard]] bool IsLost(const Observed& observed, const std::string& node);

// Whether what ran on the node has ended with it: it has been lost for as long as Kubernetes waits
// before it evicts pods, or a live read has shown that there is no such Node. A node that is not
// ready may only have lost its network.
[[nodiscard]] bool HasEnded(const Observed& observed, const std::string& node);
// Whether a live read could show that: the view, which is current, lacks the node.
[[nodiscard]] bool MayHaveEnded(const Observed& observed, const std::string& node);

// Whether the daemon is ready and stays.
[[nodiscard]] bool Serves(const api::DaemonPod& pod);

// Whether the entry of a daemon that writes its own has another address than its pod: that of the
// pod before, say, which may be a stranger's by now. Its peers look for it there.
[[nodiscard]] bool IsSoughtElsewhere(const api::DaemonPod& pod, const api::Member& entry);

// Where the clique of a pod lies: in the pod's own namespace. Two DaemonSets of one domain in two
// driver namespaces have two cliques of one id, whose daemons know nothing of each other.
struct CliquePlace {
  std::string ns = {};
  std::string id = {};
  friend auto operator<=>(const CliquePlace&, const CliquePlace&) = default;
};

// Whether the pod belongs in the clique: one without the label is only starting.
[[nodiscard]] bool MayBeIn(const api::DaemonPod& pod, const std::string& clique);
[[nodiscard]] bool MayBeIn(const api::DaemonPod& pod, const CliquePlace& clique);

// The pod that counts for each node: of several, one that stays before one that goes, then the
// newest. They point into `observed`.
using PodByNode = std::map<std::string, const api::DaemonPod*>;
[[nodiscard]] PodByNode PodsThatCount(const Observed& observed);

}  // namespace compute_domain

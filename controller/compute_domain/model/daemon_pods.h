// Daemon pod of each node, and whether the node lives. Pure.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

// State of a node. kNotKnown if a stale cache lacks the node or shows it as not ready.
enum class NodeLife { kLives, kLost, kNotKnown };
NodeLife LifeOf(const Observed& observed, const std::string& node);

// Returns whether the node is known to be not ready, or not to exist.
bool IsLost(const Observed& observed, const std::string& node);

// Returns whether everything that ran on the node has ended. Only a live read of the Node in this
// pass proves it: the Node does not exist, or is not ready and has been lost for 5 minutes, after
// which Kubernetes evicts pods. R2: a cache is never evidence.
bool HasEnded(const Observed& observed, const std::string& node);
// Returns whether that live read is needed: the cache is fresh and lacks the node, or has shown it
// as lost for 5 minutes.
bool MayHaveEnded(const Observed& observed, const std::string& node);

// Returns whether the daemon is ready and is not being deleted.
bool Serves(const api::DaemonPod& pod);

// Returns whether the entry of a daemon that writes its own entry has another address than its pod.
// The address may be that of an earlier pod and belong to a stranger by now. Peers connect to it.
bool IsSoughtElsewhere(const api::DaemonPod& pod, const api::Member& entry);

// Location of a clique: the namespace of its pods, and its id. Two DaemonSets of one domain in two
// driver namespaces have two cliques with one id, and their daemons do not know each other.
struct CliquePlace {
  std::string ns = {};
  std::string id = {};
  friend auto operator<=>(const CliquePlace&, const CliquePlace&) = default;
};

// Returns whether the pod may belong to the clique. A pod without the label is still starting.
bool MayBeIn(const api::DaemonPod& pod, const std::string& clique);
bool MayBeIn(const api::DaemonPod& pod, const CliquePlace& clique);

// Returns one daemon pod for each node: a pod that is not being deleted is preferred, then the
// newest. While DaemonSets are unknown, the owner of a pod counts as the domain's. The pointers
// point into `observed`.
using PodByNode = std::map<std::string, const api::DaemonPod*>;
PodByNode PodsThatCount(const Observed& observed);

}  // namespace compute_domain

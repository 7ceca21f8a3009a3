// Renders the DaemonSet of a domain's IMEX daemons. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace daemon_set {

// `tolerations`, `dns_config`, `resources`, `security_context` and `node_selector` have the form of
// a pod's spec. Null if not set.
struct DaemonSetSettings {
  std::string ns = {};     // The driver namespace.
  std::string image = {};  // Contains the binary compute-domain-daemon.
  std::vector<std::string> pull_secrets = {};
  int nodes_per_imex_domain_max = 18;  // The same for all daemons of a domain.
  int log_verbosity = 0;
  bool controller_writes = false;  // Marks the pods: the controller writes their clique entries.
  // Without it, daemons would be evicted first and scheduled last.
  std::string priority_class = "system-node-critical";
  json::Value tolerations = AllTaints();
  json::Value dns_config = OneDot();
  // Requests and limits. None by default. If a pod requests all of a node and is scheduled first, a
  // daemon with requests would evict exactly that pod by its higher priority.
  json::Value resources = {};
  // Of the container. If the controller writes cliques, the daemon is cdom's, and fields that are
  // not set here get the least that it needs.
  json::Value security_context = {};
  json::Value node_selector = {};  // In addition to the domain's label.
  std::string image_pull_policy = {};
  std::string scheduler_name = {};
  // In addition to the variables that are always set.
  std::vector<std::pair<std::string, std::string>> environment = {};

  // Secret in the driver namespace for TLS between IMEX daemons. Empty if none is mounted.
  std::string keys_secret = {};

  static json::Value AllTaints();
  // Resolves a name with a dot as it is, not with each search domain first.
  static json::Value OneDot();
};

// The names of a domain's nodes in IMEX. They contain a hash of its UID (kOfDomain), or are the
// same in all domains. All daemons of a domain need the same.
enum class NodeNames { kShared, kOfDomain };

// Returns the DaemonSet. `domain_uid` is the ComputeDomain's. The daemons' claim template has the
// same name.
json::Value Render(const kube::Uid& domain_uid, const DaemonSetSettings& settings,
                   NodeNames names = NodeNames::kShared);

}  // namespace daemon_set

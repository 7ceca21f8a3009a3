// The DaemonSet of IMEX daemons that a domain should have. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pkg/json/value.h"

namespace daemon_set {

// `tolerations`, `dns_config`, `resources`, `security_context` and `node_selector` are as a pod's
// spec has them; null: not set.
struct DaemonSetSettings {
  std::string ns = {};     // The driver namespace.
  std::string image = {};  // With the binary compute-domain-daemon.
  std::vector<std::string> pull_secrets = {};
  int nodes_per_imex_domain_max = 18;  // The same for all daemons of a domain.
  int log_verbosity = 0;
  bool controller_writes = false;  // Mark the pods: the controller writes their clique entries.
  // Without it they are the first to be evicted, and the last to be placed.
  std::string priority_class = "system-node-critical";
  json::Value tolerations = AllTaints();
  json::Value dns_config = OneDot();
  // Requests and limits. None by default: a pod that asks for all of a node comes first, and what
  // its daemon asked for the daemon would get by its priority, by driving that very pod out.
  json::Value resources = {};
  // Of the container. Where the controller writes, the daemon is cdom's: what is not set here is as
  // little as that one needs.
  json::Value security_context = {};
  json::Value node_selector = {};  // Besides the domain's label.
  std::string image_pull_policy = {};
  std::string scheduler_name = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // Besides what it always has.

  std::string keys_secret = {};  // Of IMEX's TLS, in the driver namespace. Empty: none is mounted.

  static json::Value AllTaints();
  // A name with a dot is looked up as it stands, and not with each search domain first.
  static json::Value OneDot();
};

// `domain` is the ComputeDomain's UID. The daemons' claim template has the same name.
[[nodiscard]] json::Value Render(const std::string& domain, const DaemonSetSettings& settings);

}  // namespace daemon_set

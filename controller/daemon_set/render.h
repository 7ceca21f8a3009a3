// The DaemonSet of IMEX daemons that a domain should have. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/json/value.h"

namespace daemon_set {

struct Settings {
  std::string ns = {};     // The driver namespace.
  std::string image = {};  // With the binary compute-domain-daemon.
  std::vector<std::string> pull_secrets = {};
  int nodes_per_imex_domain_max = 18;  // The same for all daemons of a domain.
  int log_verbosity = 0;
  bool controller_writes = false;  // Mark the pods: the controller writes their clique entries.
};

// `domain` is the ComputeDomain's UID. The daemons' claim template has the same name.
[[nodiscard]] json::Value Render(const std::string& domain, const Settings& settings);

}  // namespace daemon_set

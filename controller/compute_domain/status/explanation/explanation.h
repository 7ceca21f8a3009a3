// Explains a domain's state to users; no decision depends on it. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controller/compute_domain/status/explanation/missing_plugins.h"
#include "controller/compute_domain/status/explanation/shortage.h"
#include "controller/compute_domain/status/explanation/usage.h"

namespace compute_domain {

// Computed once per plan.
struct Explanation {
  Usage usage = {};                       // Users of the domain, and pending pods.
  std::optional<Shortage> shortage = {};  // Why pods find no channel. Empty if they do.
  std::string capacity = {};              // DescribeCapacity() of the cluster.
  // Nodes that other domains hold, with the holder. Key: node.
  std::map<std::string, std::string> occupied = {};
  MissingPlugins plugins = {};
};

// REQUIRES: observed.domain.
Explanation Explain(const Observed& observed, const Instant& now);

}  // namespace compute_domain

// What explains the state of a domain to people. It decides nothing. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controller/compute_domain/status/explanation/missing_plugins.h"
#include "controller/compute_domain/status/explanation/usage.h"

namespace compute_domain {

// Computed once per plan.
struct Explanation {
  Usage usage = {};                                  // Who uses the domain, and who waits for it.
  std::optional<Failure> shortage = {};              // Why pods find no channel.
  std::string capacity = {};                         // What DescribeCapacity says of the cluster.
  std::map<std::string, std::string> occupied = {};  // Nodes that other domains hold, and which.
  MissingPlugins plugins = {};
};

// REQUIRES: observed.domain.
[[nodiscard]] Explanation Explain(const Observed& observed, const Instant& now);

}  // namespace compute_domain

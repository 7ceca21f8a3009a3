// Nodes whose kubelet plugin is not registered: where pods of a domain neither start nor end, since
// the kubelet needs the plugin for both. It explains, and decides nothing. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Since when each node that pods of the domain are on, and that is ready, publishes no
// ResourceSlice; `before` is what this said in the pass before. REQUIRES: observed.facts.
[[nodiscard]] std::map<std::string, base::Clock::TimePoint> FindSilentNodes(
    const Observed& observed, const std::map<std::string, base::Clock::TimePoint>& before,
    base::Clock::TimePoint now);

struct MissingPlugins {
  std::vector<std::string> nodes = {};  // Silent for so long that it is no restart. Sorted.
  // Pods that have not ended there for minutes, such as "pods/train-0 on node-1".
  std::vector<std::string> stuck = {};
  // When there may be more of either.
  RequeueAfter requeue_after = {};
};

// REQUIRES: observed.domain.
[[nodiscard]] MissingPlugins FindMissingPlugins(const Observed& observed, const Instant& now);

}  // namespace compute_domain

// Nodes whose kubelet plugin is not registered. Pure.
// Pods of a domain neither start nor end there, because the kubelet needs the plugin for both. This
// only explains: no decision depends on it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Returns the nodes with pods of the domain and without a ResourceSlice of the driver, and when
// this was first seen. Leaves out lost nodes. The memory has the result of the pass before.
std::map<std::string, base::Clock::TimePoint> FindSilentNodes(const Observed& observed,
                                                              base::Clock::TimePoint now);

struct MissingPlugins {
  std::vector<std::string> nodes = {};  // Without slices for longer than a restart takes. Sorted.
  // Pods there that have not ended for minutes, such as "pods/train-0 on node-1".
  std::vector<std::string> stuck = {};
  // Until there may be more nodes or pods.
  RequeueAfter requeue_after = {};
};

// REQUIRES: observed.domain.
MissingPlugins FindMissingPlugins(const Observed& observed, const Instant& now);

}  // namespace compute_domain

// One domain in full, for people who look closer than its conditions go: everybody who uses it or
// waits for it, every member, and every domain in its way, in other namespaces too. Pure.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "pkg/json/value.h"

namespace compute_domain {

// {"namespace", "name", "uid", "deleting", "users": ["pods/a"], "waiting": ["pods/b (why)"],
//  "heldByOthers": ["node (by whom)"], "idleNodes": [], "outdatedDaemons": [], "status": as
//  planned}
// REQUIRES: observed.domain.
[[nodiscard]] json::Value DescribeDomain(const Observed& observed, const Instant& now);

// All cliques of the cluster with their nodes: whose label holds one, or else why it is not free.
// By clique; "" is that of nodes without fabric.
class CliqueDescription {
 public:
  // `domain` is whose label the node carries.
  void Add(const api::Node& node, const NodeAvailability& availability, const std::string& domain);
  // [{"clique", "free", "reserved", "held", "unusable", "nodes": [{"name", "state", "domain",
  // "why"}]}]
  [[nodiscard]] json::Value Take();

 private:
  CliqueCapacities capacity_;
  std::map<std::string, json::Value> nodes_;
};

}  // namespace compute_domain

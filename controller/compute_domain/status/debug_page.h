// The debug pages: one domain in full, and all cliques. Pure.
// For administrators: they also name users, pending pods and domains of other namespaces.
#pragma once

#include <map>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "pkg/json/value.h"

namespace compute_domain {

// Returns:
// {"namespace", "name", "uid", "deleting", "users": ["pods/a"], "waiting": ["pods/b (why)"],
//  "advice": Encode(Advice), or null if no pod lacks a channel,
//  "heldByOthers": ["node (by whom)"], "idleNodes": [], "nodesWithoutPlugin": [],
//  "outdatedDaemons": [], "status": as planned}
// REQUIRES: observed.domain.
json::Value DescribeDomain(const Observed& observed, const Instant& now);

// All cliques of the cluster with their nodes: the domain that holds a node, or why it is not free.
// The clique "" has the nodes without fabric.
class CliqueDescription {
 public:
  // `domain_name` is of the domain whose label the node has. Empty if it has none.
  void Add(const api::Node& node, const NodeAvailability& availability,
           const std::string& domain_name);
  // [{"clique", "free", "reserved", "held", "unusable", "nodes": [{"name", "state", "domain",
  // "why"}]}]
  json::Value Take();

 private:
  CliqueCapacities capacity_;
  std::map<std::string, json::Value> nodes_;
};

}  // namespace compute_domain

// The decisions of the membership rule. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// The members of the domain, and the writes that its cliques need.
struct Membership {
  std::vector<api::Member> members = {};  // Sorted by clique, index, node.
  std::vector<Action> actions = {};
  // Nodes for which no index is free: "node in clique".
  std::vector<std::string> without_index = {};
  bool needs_owner = false;  // A clique is missing: read the domain before it is created.
  // A member seems to have left, or cliques are unknown: read before anything is removed or made.
  bool needs_daemons = false;
  bool needs_claims = false;  // Members seem to be unused: read claims before they leave status.
  RequeueAfter requeue_after = {};  // Until a write that waits now is due.
};

}  // namespace compute_domain

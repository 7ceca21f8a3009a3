// What the membership rule decides. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Who belongs to the domain, and what must be written so that cliques say so.
struct Membership {
  std::vector<api::Member> members = {};  // Sorted by clique, index, node.
  std::vector<Action> actions = {};
  std::vector<std::string> without_index = {};  // Nodes without room: "node in clique".
  bool needs_owner = false;                     // A clique is missing: read before one is made.
  bool needs_daemons = false;                   // A member seems gone: read before it is removed.
  RequeueAfter requeue_after = {};              // Then a write is due that waits now.
};

}  // namespace compute_domain

// Rule for the members of a domain: their cliques and indices. Pure.
//
// Both membership writers may be in use in one clique:
// - A pod with cdom's marker: the controller writes its entry. It assigns the index and keeps it
//   while a pod of that node lives. Afterwards it reserves the index for the node for a while.
// - Any other pod: its daemon writes the entry (NVIDIA's does). The controller never creates or
//   changes it, and removes it only after a live read shows that its pod does not exist.
//
// If the sources disagree about a member, status shows:
//
//   entry in clique  pod of node     its index is       status shows
//   yes              -               its own            the entry; if two cliques have one, that
//                                                       in the clique of its pod
//   yes              exists          its own            the entry, but nothing once no pod has used
//                                                       the node for 1 s, live
//   no               none, live      -                  nothing: the node has left
//   no               deleting, live  -                  nothing, if its daemon writes the entry
//                                                       and the clique lacks it, live
//   no               exists          free               the same as before: caches lag
//   no               exists          another's, cached  the same as before, for the whole clique
//   no               exists          another's, live    nothing: its daemon removed the entry
//
// "live" is evidence of this pass; the rest is from the cache. A member is ready only if its entry
// is ready, its pod is ready and not being deleted, and its node is not lost. A member whose pod
// the cache lacks keeps the readiness that status shows. It becomes ready only when its pod is
// seen.
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

// Decides the content of the domain's cliques, when to write them, and which nodes are members.
// Uses clique_spec.h, clique_batching.h, clique_patch.h and member_merge.h. REQUIRES:
// observed.domain.
Membership PlanMembership(const Observed& observed, const Instant& now);

}  // namespace compute_domain

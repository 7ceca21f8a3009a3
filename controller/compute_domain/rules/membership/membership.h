// Who belongs to a domain, in which clique and under which index. Pure.
//
// Two manners live side by side in one clique. Of a pod that carries our marker the controller
// writes the entry: it gives the index and keeps it for as long as a pod of that node lives, and
// free for its node for a while after. Of any other pod the daemon itself writes the entry
// (NVIDIA's does): the controller never makes or changes it, and removes it only once a live read
// shows that its pod is gone.
//
// What status says of a member, by which source, where they disagree:
//
//   entry in clique  pod of node    index in clique     it is
//   yes              -              its own             a member as the clique says; where its pod
//                                                       is, if it stands in two
//   no               none, live     -                   none: it has left
//   no               ends, live     -                   none, if it writes its own entry, which
//                                                       is not in the clique, live
//   no               there          free                a member as status shows it: caches lag
//   no               there          another's, cached   the same, and so is all of its clique
//   no               there          another's, live     none: it took itself out
//
// "live" is evidence of this pass, everything else the cache. Ready is only who is so in the
// clique, whose pod is ready and stays, and whose node is not lost; whose pod the cache lacks stays
// what status shows of it, and becomes ready only with its pod.
#pragma once

#include "controller/compute_domain/rules/membership/membership_plan.h"

namespace compute_domain {

// Decides what the cliques of the domain should hold, when they are written, and who is a member:
// clique_spec.h, clique_batching.h, clique_patch.h and member_readiness.h. REQUIRES:
// observed.domain.
[[nodiscard]] Membership PlanMembership(const Observed& observed, const Instant& now);

}  // namespace compute_domain

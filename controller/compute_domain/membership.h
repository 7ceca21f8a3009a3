// Who belongs to a domain, in which clique and under which index. Pure.
//
// Two manners live side by side in one clique. Of a pod that carries our marker the controller
// writes the entry: it gives the index and keeps it for as long as a pod of that node lives, and
// free for its node for a while after. Of any other pod the daemon itself writes the entry
// (NVIDIA's does): the controller never makes or changes it, and removes it only once a live read
// shows that its pod is gone.
#pragma once

#include "controller/compute_domain/plan.h"

namespace compute_domain {

// Decides what the cliques of the domain should hold, when they are written, and who is a member:
// clique_content.h, clique_pace.h, clique_write.h and members.h. REQUIRES: observed.domain.
[[nodiscard]] Membership PlanMembership(const Observed& observed, const Instant& now);

}  // namespace compute_domain

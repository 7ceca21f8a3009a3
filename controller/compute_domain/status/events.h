// Kubernetes Events on domains, nodes and pods. Pure.
#pragma once

#include <vector>

#include "controller/compute_domain/model/action.h"
#include "pkg/kube/api/event.h"

namespace compute_domain {

// Returns the Events for `done`, which has just succeeded. `observed` is the state on which it was
// decided. A status write reports only reasons that no condition had before, so an unchanged domain
// sends no Events.
std::vector<kube::Event> EventsOf(const Action& done, const Observed& observed);

// Events on pods that wait for a channel, in addition to the scheduler's: one for each cause.
struct PendingPodEvents {
  std::vector<kube::Event> events = {};
  EventsSent sent = {};
};
PendingPodEvents EventsForPendingPods(const Observed& observed);

}  // namespace compute_domain

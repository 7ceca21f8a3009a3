// Kubernetes Events on domains, nodes and pods. Pure.
#pragma once

#include <vector>

#include "controller/api/feature_gates.h"
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

// Events on the controller's pod, one for each feature gate that cdom does not support.
std::vector<kube::Event> EventsOf(const api::IgnoredGates& gates, const kube::ObjectKey& pod);

}  // namespace compute_domain

// What is told as an Event. Pure.
#pragma once

#include <vector>

#include "controller/compute_domain/model/action.h"
#include "pkg/kube/api/event.h"

namespace compute_domain {

// The Events that tell of `done`, which has just succeeded; `observed` is as it was decided by.
// A write of status tells the reasons that no condition had before, so nothing is told at rest.
[[nodiscard]] std::vector<kube::Event> EventsOf(const Action& done, const Observed& observed);

// Events on pods that wait for a channel, beyond the scheduler's messages: once for each cause.
struct PendingPodEvents {
  std::vector<kube::Event> events = {};
  EventsSent sent = {};
};
[[nodiscard]] PendingPodEvents EventsForPendingPods(const Observed& observed);

}  // namespace compute_domain

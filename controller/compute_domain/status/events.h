// What is told as an Event. Pure.
#pragma once

#include <vector>

#include "controller/compute_domain/planner.h"
#include "pkg/kube/api/event.h"

namespace compute_domain {

// The Events that tell of `done`, which has just succeeded; `observed` is as it was decided by.
// A write of status tells the reasons that no condition had before, so nothing is told at rest.
[[nodiscard]] std::vector<kube::Event> EventsOf(const Action& done, const Observed& observed);

// What pods that wait for a channel hear, beside themselves, beyond the scheduler's words: once for
// each cause. Updates `observed.memory.told`.
[[nodiscard]] std::vector<kube::Event> TellWaitingPods(Observed& observed);

}  // namespace compute_domain

// Whole lives in the simulation: one plan, or a plan and every strike at every request of it.
#pragma once

#include <vector>

#include "test/simulation/plan.h"
#include "test/simulation/world.h"

namespace simulation {

[[nodiscard]] Outcome Live(const Plan& plan, bool trace = false);

// A life that was lived, and the plan that lives it again.
struct Life {
  Plan plan = {};
  Outcome outcome = {};
};

// The lives in which one of `strikes` hits something, for each request of the life without: in the
// order of the requests, and last the life that none hits, under the first strike at request 0. A
// life begins as the one that is not struck, so it branches off from that at its request.
//
// With `every` n, of each n requests in a row a strike is tried at one, each strike at another than
// the one before it. `base` has no strike.
[[nodiscard]] std::vector<Life> Sweep(const Plan& base, std::vector<Strike> strikes, int every = 1,
                                      bool trace = false);

}  // namespace simulation

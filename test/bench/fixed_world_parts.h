// The parts of the controller whose instructions are counted on a fixed world.
//
// Callgrind finds the cost of each part under the name of its function. They are in a file of their
// own, so that the compiler cannot merge them into their callers.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/plan/planner.h"
#include "pkg/kube/cache/reflector.h"
#include "test/fixtures/plan.h"

namespace fixed_world {

// Takes a page of a list, as the API server sends it: parses it and puts its objects into the
// cache.
void Fill(kube::Reflector& reflector, std::string page);
compute_domain::Observed Gather(const compute_domain::Cache& cache, const std::string& uid);
// Decides the steps and the status. Stores the memory in `observed`, as a pass does.
fixtures::Plan Decide(compute_domain::Observed& observed);
// Returns the body of the request that writes the status.
std::string Encode(const compute_domain::WriteStatus& write,
                   const compute_domain::Observed& observed);

}  // namespace fixed_world

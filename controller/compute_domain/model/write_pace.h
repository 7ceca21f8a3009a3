// How long writes of a clique, and of a domain's status, wait for more changes. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "controller/api/types.h"

namespace compute_domain {

// Returns the minimum interval before a write that clears readiness: 100 ms plus 1 ms per member.
// Else a thousand flapping daemons would keep the API server busy.
std::chrono::milliseconds UrgentWindow(std::size_t members);

// Returns whether a member that was ready in `before` is not ready in `after`. Readers must learn
// this quickly, because they rely on readiness.
bool LosesReadiness(const std::vector<api::Member>& before, const std::vector<api::Member>& after);

}  // namespace compute_domain

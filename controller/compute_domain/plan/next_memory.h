// The only functions that change the Memory of a domain. Pure.
#pragma once

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// Updates `observed.memory`, which is from the pass before, to what is observed now.
void UpdateMemory(Observed& observed, const Instant& now);
// Returns the time until the next node of `memory` has been lost for 5 minutes. Empty if there is
// none.
RequeueAfter UntilLostForLong(const Memory& memory, base::Clock::TimePoint now);

// Returns the memory after an action.
Memory NextMemory(Memory memory, const MemoryChange& change, base::Clock::TimePoint now);

}  // namespace compute_domain

// The only place that changes what is remembered of a domain. Pure.
#pragma once

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// At the beginning of a pass: `observed.memory`, which is that of the pass before, brought up to
// what is seen now.
[[nodiscard]] Memory NextMemory(const Observed& observed, const Instant& now);
// Until the next node of `memory` has been lost for long. Empty if none is about to be.
[[nodiscard]] RequeueAfter UntilLostForLong(const Memory& memory, base::Clock::TimePoint now);

// After an action.
[[nodiscard]] Memory NextMemory(Memory memory, const MemoryChange& change,
                                base::Clock::TimePoint now);

}  // namespace compute_domain

// When a clique is written: nodes that join together are written together, and nobody who was ready
// and is not any more waits for that. Pure.
#pragma once

#include <chrono>
#include <vector>

#include "controller/compute_domain/rules/membership/membership_index.h"

namespace compute_domain {

// The pace of a clique that was written `now`. Nodes join for as long as they take, so the window
// of a clique that is written again and again grows fourfold each time: from `first` to 32 times
// that.
[[nodiscard]] CliqueBatching NextBatching(const CliqueBatching& before, base::Clock::TimePoint now,
                                          std::chrono::milliseconds first);
// Whether nothing has been written for so long that the next change is a first one again.
[[nodiscard]] bool IsAtRest(const CliqueBatching& batching, base::Clock::TimePoint now);

// So long after one write the next may follow even if it takes readiness away, of an object with so
// many members: a thousand daemons that flap must not keep the API server busy.
[[nodiscard]] std::chrono::milliseconds UrgentWindow(std::size_t members);

// How many nodes may be on their way into the clique that `daemons` does not have.
[[nodiscard]] int CountJoining(const MembershipIndex& index, const CliquePlace& place,
                               const std::vector<api::Member>& daemons);

// How long the clique's write of `daemons` has to wait for others.
[[nodiscard]] std::chrono::milliseconds UntilWrite(const MembershipIndex& index,
                                                   const api::Clique& clique,
                                                   const std::vector<api::Member>& daemons,
                                                   base::Clock::TimePoint now);

// Whether somebody who was ready `before` is not any more: nobody must go on trusting it.
[[nodiscard]] bool LosesReadiness(const std::vector<api::Member>& before,
                                  const std::vector<api::Member>& after);

}  // namespace compute_domain

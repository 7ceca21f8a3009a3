// When to write a clique. Pure.
// Nodes that join together are written together. A write that clears readiness hardly waits.
#pragma once

#include <chrono>
#include <vector>

#include "controller/compute_domain/rules/membership/membership_index.h"

namespace compute_domain {

// Returns the state after a write at `now`. The window grows fourfold with each write that soon
// follows another, from `first` to 8 times `first`: nodes may take long to join, and a member that
// is ready waits for them.
CliqueBatching NextBatching(const CliqueBatching& before, base::Clock::TimePoint now,
                            std::chrono::milliseconds first);
// Returns whether the last write is so long ago that the next change starts with the first window.
bool IsAtRest(const CliqueBatching& batching, base::Clock::TimePoint now);

// Returns how many nodes may be joining the clique and are not in `daemons`.
int CountJoining(const MembershipIndex& index, const CliquePlace& place,
                 const std::vector<api::Member>& daemons);

// Returns how long the write of `daemons` waits, so that later changes go with it.
std::chrono::milliseconds UntilWrite(const MembershipIndex& index, const api::Clique& clique,
                                     const std::vector<api::Member>& daemons,
                                     base::Clock::TimePoint now);

}  // namespace compute_domain

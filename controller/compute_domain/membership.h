// Who belongs to a domain, in which clique and under which index. Pure.
//
// Two manners live side by side in one clique. Of a pod that carries our marker the controller
// writes the entry: it gives the index and keeps it for as long as a pod of that node lives, and
// free for its node for a while after. Of any other pod the daemon itself writes the entry
// (NVIDIA's does): the controller never makes or changes it, and removes it only once a live read
// shows that its pod is gone.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"

namespace compute_domain {

// Whether the node is gone or not ready, as far as we know.
[[nodiscard]] bool IsLost(const Observed& observed, const std::string& node);

// Whether the daemon is ready and stays.
[[nodiscard]] bool Serves(const api::DaemonPod& pod);

// The labels that a clique has.
[[nodiscard]] json::Value CliqueLabels(const std::string& domain, const std::string& clique);

// Decides what the cliques of the domain should hold. REQUIRES: observed.domain.
[[nodiscard]] Membership PlanMembership(const Observed& observed, const Instant& now);

// The pace of a clique that was written `now`. Nodes join for as long as they take, so the window
// of a clique that is written again and again grows fourfold each time: from `first` to 32 times
// that.
[[nodiscard]] Pace NextPace(const Pace& before, base::Clock::TimePoint now,
                            std::chrono::milliseconds first);
// Whether nothing has been written for so long that the next change is a first one again.
[[nodiscard]] bool IsAtRest(const Pace& pace, base::Clock::TimePoint now);

// Whether somebody who was ready `before` is not any more: nobody must go on trusting it.
[[nodiscard]] bool LosesReadiness(const std::vector<api::Member>& before,
                                  const std::vector<api::Member>& after);

// The lowest index below `members_max` that is not in `used`; -1 if there is none.
[[nodiscard]] int LowestFreeIndex(const std::set<int>& used, int members_max);

}  // namespace compute_domain

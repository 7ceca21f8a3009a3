// The rules for taking a domain down (R1-R6). Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

// The live reads that must come before anything is destroyed: a cache is never evidence (R2).
[[nodiscard]] std::vector<Action> PlanProof(const Observed& observed);

// What removes `children`, each on its own, whatever else is missing (R1). The workload template
// comes before it, in a phase of its own.
[[nodiscard]] std::vector<Action> PlanTearDown(const Observed& observed, const Children& children);
[[nodiscard]] std::vector<Action> PlanWorkloadTearDown(const Observed& observed,
                                                       const Children& children);

// It is being deleted, and our finalizer, which the reference gives to children, keeps it. Where
// not all of its finalizers are known, none can be taken off: such an object is not one of ours.
[[nodiscard]] bool HoldsFinalizer(const kube::ObjectMeta& object);
// " (finalizer a, b)": those of others, while they keep an object that is being deleted; else
// empty. Names eight of them, and counts the rest.
[[nodiscard]] std::string PinnedBy(const kube::ObjectMeta& object);
// Takes our finalizer off `object`, which was read live as deleting (R5), and no other.
[[nodiscard]] WriteFinalizers Release(Kind kind, const kube::ObjectMeta& object);

// Whether a live read showed that nothing of the domain remains (R5).
[[nodiscard]] bool MayRelease(const Observed& observed);

// Whether a selector finds every claim of the domain's daemons: the template that they are made
// from labels them, and so did any before it. What was known of it stays known when that is gone.
[[nodiscard]] bool AreClaimsLabelled(const Observed& observed);

// The live read of the Nodes that the view lacks and pods of the domain were on; empty: of none.
[[nodiscard]] std::vector<Action> PlanNodeProof(const Observed& observed);

// What is the domain's or the domain itself, is being deleted, and is kept by a finalizer of
// others. `owner` is the domain as it was read live.
[[nodiscard]] std::vector<std::string> FindPinned(const Observed& observed,
                                                  const kube::ObjectMeta& owner);

// Daemons and their claims that still exist, by their nodes, and labels that come back.
[[nodiscard]] std::vector<std::string> FindRemains(const Observed& observed);
// For how long all of those may still end by themselves; zero: one does not, or should have.
[[nodiscard]] std::chrono::milliseconds UntilRemainsShouldEnd(const Observed& observed,
                                                              base::Clock::WallTime now);

}  // namespace compute_domain

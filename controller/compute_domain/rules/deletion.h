// Rules for the deletion of a domain (R1-R6). Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

// Returns the domain as the deletion may use it: as a live read showed it. Also as the cache shows
// it, if a live read of an earlier pass proved that it is being deleted, because the API server
// never takes that back. Where nothing of it is left, the cache suffices, because only its
// finalizer goes then. That write names the resourceVersion of a domain that is being deleted, so
// the API server itself proves it (R2). Null if it does not exist, or must be read.
const kube::ObjectMeta* OwnerToRelease(const Observed& observed);

// Returns the live reads that must come before anything is deleted: R2 (a cache is never evidence).
std::vector<Action> PlanProof(const Observed& observed);

// Returns the actions that remove `children`: R1 (each child is removed independently of the
// others). The workload template has an earlier phase, with a function of its own.
std::vector<Action> PlanTearDown(const Observed& observed, const Children& children);
std::vector<Action> PlanWorkloadTearDown(const Observed& observed, const Children& children);

// Returns whether the object is being deleted and kept by cdom's finalizer, which the reference
// driver puts on children, too. False if it has more finalizers or owners than the cache keeps,
// because then none can be removed. cdom creates no such object.
bool HoldsFinalizer(const kube::ObjectMeta& object);
// Returns the finalizers of others that keep an object from being deleted, as " (finalizer a, b)".
// Names eight of them and counts the rest. Empty if there are none.
std::string PinnedBy(const kube::ObjectMeta& object);
// Returns the write that removes only cdom's finalizer. R5 (release only after a live read): a live
// read must have shown that `object` is being deleted.
WriteFinalizers Release(Kind kind, const kube::ObjectMeta& object);

// Returns whether a live read showed that nothing of the domain remains (R5).
bool MayRelease(const Observed& observed);

// Returns whether a label selector finds every claim of the domain's daemons. Their claim template
// labels them, and so did any earlier one. The answer is remembered when the template is deleted.
bool AreClaimsLabelled(const Observed& observed);

// Returns the live read of Nodes that count as lost and on which pods use the domain. Empty if
// there are none.
std::vector<Action> PlanNodeProof(const Observed& observed);

// The same of Nodes on which a daemon or its claim remains. It comes before the finalizer is
// removed.
std::vector<Action> PlanRemainsProof(const Observed& observed);

// Returns objects that are being deleted and that finalizers of others keep: children, or the
// domain itself. `owner` is the domain as a live read showed it.
std::vector<std::string> FindPinned(const Observed& observed, const kube::ObjectMeta& owner);

// Returns what remains: daemons and their claims, named by node; cliques that cdom may not delete;
// labels that return after their removal.
std::vector<std::string> FindRemains(const Observed& observed);
// Returns how long all remaining daemons may still take to end by themselves. Zero if a daemon will
// not, or should have ended.
std::chrono::milliseconds UntilRemainsShouldEnd(const Observed& observed,
                                                base::Clock::WallTime now);

}  // namespace compute_domain

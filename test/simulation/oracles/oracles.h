// What must always hold, and what must hold once everything has come to rest. Each oracle looks at
// the truth (every version of every object, and who made it) and at the requests that were sent,
// never at what a controller believes, and says each violation in one sentence. Those of safety
// look on while a life is lived, see judge.h; those of liveness look once, at rest.
//
// The letters are those of the test plan: S safety, L liveness, Q efficiency. So are the numbers,
// but for S19 and S20, which it has not.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

using Violations = std::vector<std::string>;

// While what the controller writes may be late: a fault struck it, or it sees what is old.
struct Excuse {
  Time from = {};
  Time until = Time::max();
};

// The controller under test.
struct Suspects {
  std::set<std::string> clients = {};  // Its replicas, as the API server knows them.
  std::string driver_namespace = std::string(kDriverNamespace);
  // Whether a child in the driver's namespace may have any name, because older releases generated
  // it.
  bool any_daemon_name = false;
  std::chrono::seconds deletion_grace{600};
  int members_max = 18;           // Of one clique.
  std::string daemon_image = {};  // That daemons are to run; empty: any.
  bool may_read_claims = true;    // Else nobody expects it to know who uses a domain.
  // How late what it writes may follow the truth: windows. And how much later it may say of a
  // member that it serves: nodes that join together are written together, and some may come late.
  // What is excused does not count.
  std::chrono::seconds delay{2};
  std::chrono::seconds pace{4};
  std::vector<Excuse> excuses = {};
  // How far the wall clocks of its hosts, and what they have for a minute, may be from the truth.
  std::chrono::seconds clocks_apart{0};
  int clocks_drift_per_million = 0;
  std::map<std::string, Time> stood_still_until = {};  // Those clients that did.
  // One of its replicas leads at a time, by the Lease.
  bool elect = false;
  std::set<std::string> full_namespaces = {};  // Their quota leaves no room for a claim template.
  // It says in status all that ours says beside the reference's.
  bool says_all = false;
};

// From `since` to `now`, less what is excused.
[[nodiscard]] std::chrono::microseconds Lateness(const Suspects& suspects, Time since, Time now);

class Truth;

// What an oracle looks at, and where it says what is wrong. All outlive it.
struct Scene {
  const ApiServer& server;
  const Suspects& suspects;
  Violations& violations;
};

// An oracle that is shown each change and each request once, in the order in which they came about,
// and how all stands at the end. What it is not interested in is null.
struct Onlooker {
  std::function<void(const Truth& before, const Change& change)> on_change = {};
  std::function<void(const Truth& truth, const RequestRecord& request)> on_request = {};
  std::function<void(const Truth& truth, Time now)> at_end = {};
};

// S1: no container of a workload starts on a node unless a daemon pod that lives, or did so within
// the delay, is ready there; and the controller calls no member ready but of such a pod, under its
// address. It may repeat in `status` what a daemon says in its clique.
[[nodiscard]] Onlooker ReleaseGate(const Scene& scene);
// S10, L4, L5, in virtual time: no domain is called Ready for longer than the delay while a node
// that is its, or where it has a channel, is served by no daemon; what status says of each node
// follows its pod as fast; and a node has the label of a domain that is gone no longer than a
// minute.
[[nodiscard]] Onlooker StatusFollows(const Scene& scene);
// L8: once a leader has renewed its Lease for the last time, whoever is there leads within the
// Lease's duration and a retry.
[[nodiscard]] Onlooker FailoverIsFast(const Scene& scene);
// S2: on a node runs a daemon of one domain at most.
[[nodiscard]] Onlooker OneDomainPerNode(const Scene& scene);
// S3: the controller gives an index to one member of a clique or status, from the range that there
// is, and not while a pod lives that had it.
[[nodiscard]] Onlooker IndexUniqueness(const Scene& scene);
// S4: the controller never changes the index of a daemon pod in its clique, and keeps the index of
// a node that it took out for a minute, while there are others.
[[nodiscard]] Onlooker IndexStability(const Scene& scene);
// S5: the controller takes a member out of its clique only after it has looked, live, and found no
// pod of it; and out of the `status` of a domain that stays only if it is no member any more.
[[nodiscard]] Onlooker NoPruneWithoutProof(const Scene& scene);

// S6: deletes, and takes finalizers and labels off, only what belongs to a domain that is being
// deleted or gone, by name, namespace and UID; and changes nothing that is others' on what it
// writes to.
[[nodiscard]] Onlooker OwnOnly(const Scene& scene);
// S7: nothing of a domain that lives is deleted, neither by the controller nor, through owner
// references it set, by the garbage collector; but what somebody else deleted may be finished off,
// and a daemon pod is replaced that its DaemonSet would make otherwise now, unless another node of
// its clique was without its daemon when the controller looked.
[[nodiscard]] Onlooker LiveChildrenAreSafe(const Scene& scene);
// S20: no daemon of a clique is replaced while a claim holds a channel of the domain on one of the
// clique's nodes, unless the domain allows it: the job would end with it. Nor is a DaemonSet
// deleted while a pod that runs uses a channel of the domain, unless the grace of its deletion is
// over.
[[nodiscard]] Onlooker DaemonsInUseStay(const Scene& scene);
// S8: the domain's finalizer is there before its first child, and goes only when no child, node
// label, daemon pod or claim in use is left (or the deadline for it has passed).
[[nodiscard]] Onlooker FinalizerDiscipline(const Scene& scene);
// S11: a domain has at most one child in each role.
[[nodiscard]] Onlooker NoDuplicateChild(const Scene& scene);
// S19: the API server refuses no request: what was meant to be there may be gone (404), another may
// have been first (409, or the test of a JSON patch that fails), a version too old or not known yet
// (410, 504); and a namespace that goes takes nothing new (403).
[[nodiscard]] Onlooker NothingRefused(const Scene& scene);
// S15: only the holder of the Lease writes anything but Events, also when it has stood still.
[[nodiscard]] Onlooker OnlyTheLeaderWrites(const Scene& scene);
// S13: only requests that the contract needs, only where it needs them.
[[nodiscard]] Onlooker Confinement(const Scene& scene);

// L1: at rest, every domain that lives has exactly its children as the controller makes them now,
// no node that it does not use, and its status is the truth.
[[nodiscard]] Violations ChildrenAndStatusMatch(const ApiServer& server, const Suspects& suspects);
// L2: at rest, a domain is being deleted only while something holds it, and then it says what.
[[nodiscard]] Violations DeletionCompletes(const ApiServer& server, const Suspects& suspects);
// L3: at rest, nothing is left of a domain that is gone.
[[nodiscard]] Violations NothingLeaked(const ApiServer& server, const Suspects& suspects);
// Q2: from request `since` on, nothing but watches, the lease, and how often an Event was seen.
[[nodiscard]] Violations QuietAtRest(const ApiServer& server, const Suspects& suspects,
                                     std::size_t since);

// All of L.
[[nodiscard]] Violations CheckRest(const ApiServer& server, const Suspects& suspects);

}  // namespace simulation

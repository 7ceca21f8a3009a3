// The oracles: what must always hold, and what must hold at rest.
//
// Each looks at the ground truth (every version of every object, and who made it) and at the
// requests that were sent, never at what a controller believes, and says each violation in one
// sentence. Oracles of safety look during a run, see oracle_runner.h; oracles of liveness look
// once, at rest.
//
// The ids are those of the test plan, but for S19 to S22, which are new: S safety, L liveness, Q
// efficiency.
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

// A time in which the controller may write late, because of a fault or a stale cache.
struct Excuse {
  Time from = {};
  Time until = Time::max();
};

// The controller under test.
struct SystemUnderTest {
  std::set<std::string> clients = {};  // Its replicas, as the API server knows them.
  std::string driver_namespace = std::string(kDriverNamespace);
  // Whether a child in the driver's namespace may have any name, because older releases generated
  // it.
  bool any_daemon_name = false;
  std::chrono::seconds deletion_grace{600};
  int members_max = 18;           // Of one clique.
  std::string daemon_image = {};  // That daemons are to run; empty: any.
  bool may_patch = true;          // Else it reads each object that it writes.
  bool may_read_claims = true;    // Else nobody expects it to know who uses a domain.
  // How late what it writes may follow the truth: windows. And how much later it may say of a
  // member that it serves: nodes that join together are written together, and some may come late.
  // What is excused does not count.
  std::chrono::seconds delay{2};
  std::chrono::seconds pace{4};
  // How far its views may be behind one another, and behind what it wrote.
  std::chrono::seconds view_lag{0};
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

// What it has for so long may be less by its clock.
[[nodiscard]] std::chrono::microseconds ByFastClock(const SystemUnderTest& system,
                                                    std::chrono::microseconds time);

// From `since` to `now`, less what is excused.
[[nodiscard]] std::chrono::microseconds Lateness(const SystemUnderTest& system, Time since,
                                                 Time now);

class GroundTruth;

// What an oracle looks at, and where it says what is wrong. All outlive it.
struct OracleContext {
  const ApiServer& server;
  const SystemUnderTest& system;
  Violations& violations;
};

// An oracle that is shown each change and each request once, in the order in which they came about,
// and how all stands at the end. What it is not interested in is null.
struct Oracle {
  std::function<void(const GroundTruth& before, const Change& change)> on_change = {};
  std::function<void(const GroundTruth& truth, const RequestRecord& request)> on_request = {};
  std::function<void(const GroundTruth& truth, Time now)> at_end = {};
};

// S1: a container of a workload starts on a node only if a daemon pod that exists, or did so within
// the delay, is ready there; and the controller calls a member ready only if it has such a pod with
// its address. The controller may repeat in `status` what a daemon says in its clique.
[[nodiscard]] Oracle ReleaseGate(const OracleContext& context);
// S23: the controller makes a node a member, in a clique or in status, only if the scheduler has
// given a pod of the domain a channel there at some time. While a fault heals, and where claims may
// not be read, it cannot know.
[[nodiscard]] Oracle NoStrangers(const OracleContext& context);
// S10, L4, L5, in virtual time: no domain is Ready for longer than the delay while one of its
// nodes, or a node where it has a channel, has no daemon that serves; status.nodes follows each pod
// within the delay, if it has a channel of the domain on its node; and a node keeps the label of a
// deleted domain for at most a minute.
[[nodiscard]] Oracle StatusFollows(const OracleContext& context);
// L8: after the last renewal of a leader another replica leads within the Lease's duration and a
// retry.
[[nodiscard]] Oracle FailoverIsFast(const OracleContext& context);
// S2: a node runs daemons of at most one domain.
[[nodiscard]] Oracle OneDomainPerNode(const OracleContext& context);
// S3: the controller gives an index to one member of a clique or status, within the range, and only
// once the pod that had it does not exist.
[[nodiscard]] Oracle IndexUniqueness(const OracleContext& context);
// S4: the controller never changes the index of a daemon pod in its clique, and keeps the index of
// a node that it took out for a minute, while there are others.
[[nodiscard]] Oracle IndexStability(const OracleContext& context);
// S5: the controller removes a member from its clique only after a live read found no pod of it;
// and from the `status` of a domain that stays only if it is no member any more.
[[nodiscard]] Oracle NoPruneWithoutProof(const OracleContext& context);

// S6: the controller deletes, and removes finalizers and labels from, only objects of a domain that
// is being deleted or does not exist, by name, namespace and UID; and changes no field of others on
// what it writes. It labels a node only again: one without a label, for a domain that exists
// and has a channel there.
[[nodiscard]] Oracle OwnOnly(const OracleContext& context);
// S7: no object of a live domain is deleted by the controller or, through owner references that it
// set, by the garbage collector. The controller may finish what another client deleted, and replace
// a daemon pod that is outdated, unless another node of its clique had no daemon at that time.
[[nodiscard]] Oracle LiveChildrenAreSafe(const OracleContext& context);
// S20: no daemon of a clique is replaced while a claim holds a channel of the domain on one of the
// clique's nodes, unless the domain allows it: the job would end with it. Nor is a DaemonSet
// deleted while a pod that runs uses a channel of the domain, unless the grace of its deletion is
// over.
[[nodiscard]] Oracle DaemonsInUseStay(const OracleContext& context);
// S8: the domain's finalizer is there before its first child, and goes only when no child, node
// label, daemon pod or claim in use is left (or the deadline for it has passed).
[[nodiscard]] Oracle FinalizerDiscipline(const OracleContext& context);
// S11: a domain has at most one child in each role.
[[nodiscard]] Oracle NoDuplicateChild(const OracleContext& context);
// S19: the API server refuses no request: what was meant to be there may be gone (404), another may
// have been first (409, or the test of a JSON patch that fails), a version too old or not known yet
// (410, 504); and a namespace that goes takes nothing new (403).
[[nodiscard]] Oracle NothingRefused(const OracleContext& context);
// S21: a domain that was Ready becomes NotReady only for what the API server has held about its
// members, or what they need, since it was called Ready and within half a minute before: never for
// a request that was refused, delayed or lost, and never by an older view. No fault excuses it, but
// for the time that it may take; and two that lead at once, with views of their own, cannot know
// whose is older, and are not judged.
[[nodiscard]] Oracle ReadinessHasCause(const OracleContext& context);
// S22: while a domain is being deleted and its grace period is not over, the controller takes
// nothing that a live job uses: no DaemonSet, daemon template, clique, daemon pod, finalizer, nor
// the label of a node that the job is on. A job is over when its claims are free, its pods have
// ended, or their node does not exist or was lost for five minutes; a claim that came after a live
// look of the same pass is excused, and so is a replacement that the domain allows.
[[nodiscard]] Oracle LiveJobsKeepAll(const OracleContext& context);
// Q1: one object and verb (a POST by the name that it makes), or one collection with its selector
// and LIST or watch, is asked for at most 20 times in a virtual second by one process. What all
// domains of a namespace read, such as its claims, may be read as often for each of them: the
// product sends one LIST for those who ask at the same time, and here each domain asks by itself.
// Who may not patch reads what it writes once more.
[[nodiscard]] Oracle RequestsHaveABudget(const OracleContext& context);
// S15: only the holder of the Lease writes anything but Events, also when it has stood still.
[[nodiscard]] Oracle OnlyTheLeaderWrites(const OracleContext& context);
// S13: only requests that the contract needs, only where it needs them. Events of nodes are in the
// namespace "default".
[[nodiscard]] Oracle Confinement(const OracleContext& context);

// L1: at rest, every live domain has exactly its children as the controller would create them now,
// no node that it does not use, and a true status.
[[nodiscard]] Violations ChildrenAndStatusMatch(const ApiServer& server,
                                                const SystemUnderTest& system);
// L2: at rest, a domain is being deleted only while something blocks it, and its status says what.
[[nodiscard]] Violations DeletionCompletes(const ApiServer& server, const SystemUnderTest& system);
// L3: at rest, nothing is left of a deleted domain.
[[nodiscard]] Violations NothingLeaked(const ApiServer& server, const SystemUnderTest& system);
// Q2: from request `since` on, nothing but watches, the lease, and how often an Event was seen.
[[nodiscard]] Violations QuietAtRest(const ApiServer& server, const SystemUnderTest& system,
                                     std::size_t since);

// All of L.
[[nodiscard]] Violations CheckRest(const ApiServer& server, const SystemUnderTest& system);

}  // namespace simulation

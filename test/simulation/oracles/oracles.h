// The oracles: rules that must always hold, or at rest.
//
// Each looks at the ground truth (every version of every object, and its writer) and at the
// requests that were sent, never at a controller's caches. It reports each violation in one
// sentence. Oracles of safety look during a run, see oracle_runner.h. Oracles of liveness look
// once, at rest.
//
// The ids are those of the test plan, except for S19 to S26, which are new. S is safety, L
// liveness, Q efficiency.
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
  bool is_of_reads = false;  // A kind cannot be read. This excuses only what needs it.
};

// The controller under test.
struct SystemUnderTest {
  std::set<std::string> clients = {};  // User names of its replicas.
  std::string driver_namespace = std::string(kDriverNamespace);
  std::chrono::seconds deletion_grace{600};
  std::string daemon_image = {};  // Image that daemons must run. Empty if any.
  int members_max = 18;           // Maximum in one clique.
  // Whether a child in the driver's namespace may have any name, because older releases generated
  // it.
  bool any_daemon_name = false;
  bool may_patch = true;        // If false, it reads each object before a write.
  bool may_read_claims = true;  // If false, it cannot know which pods use a domain.
  bool serves_cliques = true;   // If false, their CRD is not installed.
  // `delay`: how late its writes may follow the truth. `pace`: how much later it may report that a
  // member is ready, because nodes that join together are written together, and some may come late.
  // Excused time does not count.
  std::chrono::seconds delay{2};
  std::chrono::seconds pace{4};
  // How far its caches may lag behind each other, and behind its own writes.
  std::chrono::seconds view_lag{0};
  // How long changes of a kind may stay hidden, because its watches are silent. Then it is listed,
  // again and again.
  std::chrono::seconds silence{0};
  std::vector<Excuse> excuses = {};
  // How far the wall clocks of its hosts may differ from the truth, and by how much they run too
  // fast.
  std::chrono::seconds clocks_apart{0};
  int clocks_drift_per_million = 0;
  std::map<std::string, Time> stood_still_until = {};  // By client. Has only clients that paused.
  // Kinds (by plural) that it cannot read, and until when it may behave as if it could not.
  std::set<std::string> unreadable = {};
  Time unreadable_until = {};
  // Whether it uses leader election, by the Lease.
  bool elect = false;
  bool repairs_are_undone = false;  // Another client undoes what the controller writes.
  // Whether its status has everything that cdom reports beyond the reference driver.
  bool says_all = false;
  // Namespaces whose quota has no room for a claim template.
  std::set<std::string> full_namespaces = {};
};

// Returns the least true time in which a host with the fastest clock measures `time`.
std::chrono::microseconds ByFastClock(const SystemUnderTest& system,
                                      std::chrono::microseconds time);

// Returns the time from `since` to `now`, without excused time.
std::chrono::microseconds Lateness(const SystemUnderTest& system, Time since, Time now);

class GroundTruth;

// An oracle's input, and where it reports violations. All must outlive it.
struct OracleContext {
  const ApiServer& server;
  const SystemUnderTest& system;
  Violations& violations;
};

// An oracle. It gets each change and each request once, in order, and the state at the end. A
// function that it does not need is null.
struct Oracle {
  std::function<void(const GroundTruth& before, const Change& change)> on_change = {};
  std::function<void(const GroundTruth& truth, const RequestRecord& request)> on_request = {};
  std::function<void(const GroundTruth& truth, Time now)> at_end = {};
};

// S1: a workload container starts on a node only if a daemon pod is ready there that exists, or did
// so within the delay. The controller reports a member as ready only if it has such a pod with its
// address. It may repeat in `status` what a daemon wrote in its clique.
Oracle ReleaseGate(const OracleContext& context);
// S23: the controller makes a node a member, in a clique or in status, only if the node has had an
// allocated channel of the domain. The scheduler must have allocated it to a pod of the domain. Not
// checked while a fault heals, or if claims may not be read: then the controller cannot know.
Oracle NoStrangers(const OracleContext& context);
// S10, S26, L4, L5, in virtual time. A domain is Ready for at most the delay while one of its
// nodes, or a node where it has a channel, has no ready daemon. MemoryShared is True for at most
// the delay while a pod waits, has no ready daemon on its node, or is in another clique than the
// others; and it is True within the delay and the pace once none of this is so. The entry in
// status.nodes follows each pod within the delay, if the pod has a channel of the domain on its
// node. A member that its clique lists leaves status.nodes within the delay of the last channel on
// its node. A node keeps the label of a deleted domain for at most a minute.
Oracle StatusFollows(const OracleContext& context);
// L8: after a leader's last renewal another replica leads within the Lease's duration plus one
// retry. Not checked while a kind cannot be read.
Oracle FailoverIsFast(const OracleContext& context);
// S24: who leads serves. While a replica leads, a domain gets its finalizer within 75 s, and then a
// DaemonSet; 105 s after a refused one. Both wait while children cannot be read. Domains that
// cannot be read are no excuse: then the replica must not lead.
Oracle LeaderServes(const OracleContext& context);
// S2: a node runs daemons of at most one domain.
Oracle OneDomainPerNode(const OracleContext& context);
// S3: the controller assigns an index, within the range, to only one member of a clique or status.
// It does so only once the pod that had the index does not exist.
Oracle IndexUniqueness(const OracleContext& context);
// S4: the controller never changes the index of a daemon pod in its clique. It reserves the index
// of a removed node for a minute, while other indices are free.
Oracle IndexStability(const OracleContext& context);
// S5: the controller removes a member from its clique only after a live read found no pod of it. It
// removes a member from the `status` of a domain that stays only if it is no longer a member, or if
// no claim holds a channel on its node and it has a clique.
Oracle NoPruneWithoutProof(const OracleContext& context);

// S6: the controller deletes only objects of a domain that is being deleted or does not exist. The
// same is true for removing finalizers and labels. Name, namespace and UID must all match that
// domain. When it writes an object, it leaves the fields of other writers unchanged. It adds a node
// label only to restore it: the node has none, and the domain exists and has a channel there.
Oracle OwnOnly(const OracleContext& context);
// S7: no object of a live domain is deleted by the controller or, through owner references that it
// set, by the garbage collector. The controller may finish a deletion that another client began. It
// may also replace an outdated daemon pod, unless another node of its clique had no daemon at that
// time.
Oracle LiveChildrenAreSafe(const OracleContext& context);
// S20: no daemon of a clique is replaced while a claim holds a channel of the domain on a node of
// the clique: the job would end. Exception: the domain allows it. Nor is a DaemonSet deleted while
// a running pod uses a channel of the domain, unless the grace period of the deletion is over.
Oracle DaemonsInUseStay(const OracleContext& context);
// S25: a daemon starts with the node names that the other daemons of its domain have in IMEX, if
// the controller writes their entries. A daemon that is being deleted does not count.
Oracle DaemonsHaveTheSameNames(const OracleContext& context);
// S8: the domain's finalizer exists before its first child. It is removed only when no child, node
// label, daemon pod or claim in use is left (or the deadline for it has passed).
Oracle FinalizerDiscipline(const OracleContext& context);
// S11: a domain has at most one child in each role.
Oracle NoDuplicateChild(const OracleContext& context);
// S19: the API server refuses no request, with these exceptions. The object may be deleted (404).
// Another client may have written first (409, or a failed test of a JSON patch). A version may be
// too old or not known yet (410, 504). A namespace that is being deleted accepts no new objects
// (403).
Oracle NothingRefused(const OracleContext& context);
// S21: a Ready domain becomes NotReady only because of a change of its members, or of objects that
// they need. The condition Ready is also taken back if IMEX was started again on a node. The change
// is after it became Ready, or at most half a minute before. The cause is never a refused, delayed
// or lost request, nor a stale cache. No fault excuses it, except for the time that a fault may
// take. Runs with two leaders at once are not checked: with separate caches they cannot know which
// is stale.
Oracle ReadinessHasCause(const OracleContext& context);
// S22: until the grace period of a domain's deletion is over, the controller removes nothing that a
// live job uses. That is: no DaemonSet, daemon template, clique, daemon pod, finalizer, nor the
// label of a node that the job is on. A job is over when its claims are free, its pods have ended,
// or their node does not exist or was lost for five minutes. Excused are a claim that came after a
// live read of the same pass, and a replacement that the domain allows.
Oracle LiveJobsKeepAll(const OracleContext& context);
// Q1: one process sends at most 20 requests in a virtual second for one target. A target is an
// object and verb (a POST counts for the name that it creates), or a collection with its selector
// and LIST or watch. A collection that all domains of a namespace read, such as its claims, has
// this budget for each of them. The product shares one LIST among simultaneous readers, but here
// each domain sends its own. Without the permission to patch, a process reads each object once more
// before a write.
Oracle RequestsHaveABudget(const OracleContext& context);
// Q3: one process writes the same content of the same fields of one object at most 20 times in a
// virtual minute, however often another client undoes it.
Oracle RepetitionsArePaced(const OracleContext& context);
// S15: only the holder of the Lease writes anything except Events, also after a pause.
Oracle OnlyTheLeaderWrites(const OracleContext& context);
// S13: only requests that the contract needs, and only where it needs them. Events of nodes are in
// the namespace "default".
Oracle Confinement(const OracleContext& context);

// L1: at rest, every live domain has exactly the children that the controller would create now, no
// node that it does not use, and a true status.
Violations ChildrenAndStatusMatch(const ApiServer& server, const SystemUnderTest& system);
// L2: at rest, a domain is being deleted only while something blocks it, and its status names that.
Violations DeletionCompletes(const ApiServer& server, const SystemUnderTest& system);
// L3: at rest, nothing is left of a deleted domain.
Violations NothingLeaked(const ApiServer& server, const SystemUnderTest& system);
// Q2: from request `since` on, only watches, Lease requests and updates of Event counts are sent,
// and LISTs of a kind whose watches are silent.
Violations QuietAtRest(const ApiServer& server, const SystemUnderTest& system, std::size_t since);

// Checks all of L.
Violations CheckRest(const ApiServer& server, const SystemUnderTest& system);

}  // namespace simulation

// The state of the whole cluster at one point of the history.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "test/simulation/apiserver/history.h"
#include "test/simulation/cluster/claims.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

// The record of one ComputeDomain, by UID, at one point of the history.
struct DomainRecord {
  ObjectPtr last = nullptr;  // Its latest version, also after it is deleted.
  bool exists = false;
  bool had_finalizer = false;   // At any time.
  Revision deletion_asked = 0;  // 0 if never.

  bool IsLive() const { return exists && !last->deleting(); }
};

// The state of the cluster after the changes that were applied.
class GroundTruth {
 public:
  const Objects& Live(Kind kind) const { return state_[static_cast<std::size_t>(kind)]; }
  ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const;
  // Null if no domain ever had this UID.
  const DomainRecord* FindDomain(const kube::Uid& uid) const;
  const std::map<kube::Uid, DomainRecord>& domains() const { return domains_; }

  void Apply(const Change& change);

 private:
  friend GroundTruth FinalGroundTruth(const History& history);
  void Record(const Change& change);  // REQUIRES: a change of a domain.

  std::array<Objects, kKindCount> state_;
  std::map<kube::Uid, DomainRecord> domains_;
};

// Returns the state at the end of the history.
GroundTruth FinalGroundTruth(const History& history);

// The role of a child in its domain.
enum class Role { kNone, kDaemonSet, kDaemonTemplate, kWorkloadTemplate, kClique };
const char* ToString(Role role);

// Returns the UID in the clique's name, which identifies its domain whatever its label says.
kube::Uid DomainOfClique(const Object& clique);
// Returns the domain that the object is for: of a clique by its name, otherwise by its label.
kube::Uid DomainOf(Kind kind, const Object& object);

// Returns the role of the object in the domain that its label, or a clique's name, names. Label,
// name and namespace must all match (R4). The name of a workload template comes from the domain's
// spec, so without the domain it has no role.
Role RoleOf(const GroundTruth& truth, const SystemUnderTest& system, Kind kind,
            const Object& object);

// Return whether the object is a daemon pod, or a daemon's claim, of the domain. A daemon is known
// by its label and its node: without an owner it runs, too.
bool IsDaemonPod(const SystemUnderTest& system, const Object& pod, const kube::Uid& domain);
bool IsDaemonClaim(const SystemUnderTest& system, const Object& claim, const kube::Uid& domain);
// Returns the nodes on which a claim holds a channel of the domain.
std::set<std::string> NodesWithChannels(const GroundTruth& truth, const Object& domain);
// Returns whether a claim in the domain's namespace requests a channel of it without admin access.
bool AsksForChannel(const Object& claim, const Object& domain);
// The same, and the claim is allocated: the node needs a daemon.
bool HoldsChannel(const Object& claim, const Object& domain);
// The same, and a pod uses the claim.
bool IsConsumer(const Object& claim, const Object& domain);
// Whether pods of the domain are meant to be in several cliques: its label says so, or each group
// of them is in one, by a label of the pods.
enum class Spanning { kNo, kYes, kByGroup };
Spanning SpanningOf(const Object& domain);
// Returns whether the domain's daemons may be replaced while claims hold channels of it.
bool MayRollUnderJob(const Object& domain);
// Returns how long the domain's deletion waits for its users.
std::chrono::seconds DeletionGraceOf(const SystemUnderTest& system, const Object& domain);
bool IsNodeLost(const GroundTruth& truth, const std::string& node);

// Returns "DaemonSet cdom-system/computedomain-daemon-u", for messages.
std::string Show(Kind kind, const kube::ObjectKey& key);

}  // namespace simulation

// The state of the whole cluster at one point of the history, and what it says of things.
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

// What is known of one ComputeDomain, by UID, at one point of the history.
struct DomainRecord {
  ObjectPtr last = nullptr;  // Its latest version; the last one if it is gone.
  bool exists = false;
  bool had_finalizer = false;   // At some time.
  Revision deletion_asked = 0;  // 0: never.

  [[nodiscard]] bool IsLive() const { return exists && !last->deleting(); }
};

// The state of the cluster, as far as it has been walked.
class GroundTruth {
 public:
  [[nodiscard]] const Objects& Live(Kind kind) const {
    return state_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const;
  // nullptr if there never was one with this UID.
  [[nodiscard]] const DomainRecord* FindDomain(const kube::Uid& uid) const;
  [[nodiscard]] const std::map<kube::Uid, DomainRecord>& domains() const { return domains_; }

  void Apply(const Change& change);

 private:
  friend GroundTruth FinalGroundTruth(const History& history);
  void Record(const Change& change);  // REQUIRES: it is one of a domain.

  std::array<Objects, kKindCount> state_;
  std::map<kube::Uid, DomainRecord> domains_;
};

// The state at the end.
[[nodiscard]] GroundTruth FinalGroundTruth(const History& history);

// Which of a domain's children an object is.
enum class Role { kNone, kDaemonSet, kDaemonTemplate, kWorkloadTemplate, kClique };
[[nodiscard]] const char* ToString(Role role);

// The role that the object has for the domain that its label names: by that label, its name and its
// namespace together (R4). A workload template's name comes from the domain's spec, so without the
// domain it has none.
[[nodiscard]] Role RoleOf(const GroundTruth& truth, const SystemUnderTest& system, Kind kind,
                          const Object& object);

// Daemon pods and claims of a domain, and whether a node can still be expected to do its part.
[[nodiscard]] bool IsDaemonPod(const SystemUnderTest& system, const Object& pod,
                               const kube::Uid& domain);
[[nodiscard]] bool IsDaemonClaim(const SystemUnderTest& system, const Object& claim,
                                 const kube::Uid& domain);
// Nodes on which a claim holds a channel of the domain.
[[nodiscard]] std::set<std::string> NodesWithChannels(const GroundTruth& truth,
                                                      const Object& domain);
// A claim in the domain's namespace that asks for a channel of it, not as an administrator.
[[nodiscard]] bool AsksForChannel(const Object& claim, const Object& domain);
// One that is allocated: its daemon there is needed.
[[nodiscard]] bool HoldsChannel(const Object& claim, const Object& domain);
// One that a pod uses, too.
[[nodiscard]] bool IsConsumer(const Object& claim, const Object& domain);
// Whether its daemons may be replaced while claims hold channels of it.
[[nodiscard]] bool MayRollUnderJob(const Object& domain);
// How long its deletion waits for those who use it.
[[nodiscard]] std::chrono::seconds DeletionGraceOf(const SystemUnderTest& system,
                                                   const Object& domain);
[[nodiscard]] bool IsNodeLost(const GroundTruth& truth, const std::string& node);

// "DaemonSet cdom-system/computedomain-daemon-u", for people.
[[nodiscard]] std::string Show(Kind kind, const kube::ObjectKey& key);

}  // namespace simulation

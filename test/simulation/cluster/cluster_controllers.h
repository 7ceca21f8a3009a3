// Kubernetes' own controllers, as far as they affect a domain.
//
// Source: kubernetes 1.36,
// pkg/controller/{daemon,resourceclaim,garbagecollector,namespace,podgc,nodelifecycle} and
// pkg/scheduler/framework/plugins/dynamicresources.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/simulation/cluster/claims.h"
#include "test/simulation/cluster/peer.h"

namespace simulation {

// Keeps one pod of each DaemonSet on each node that its nodeSelector matches and whose taints it
// tolerates, and counts them in its status. A pod that is being deleted still occupies its node. A
// failed pod is replaced, with a growing delay for each node. Unless the strategy is OnDelete, pods
// of an older template are replaced one at a time. When a DaemonSet is deleted, the garbage
// collector removes its pods.
//
// It adopts pods of its namespace that its selector matches, unless they have a controller or are
// being deleted. It releases its own pods that the selector no longer matches. (client-go,
// PodControllerRefManager.)
class DaemonSetController final : public Peer {
 public:
  static constexpr std::chrono::seconds kFirstBackOff{1};
  static constexpr std::chrono::minutes kLongestBackOff{15};

  explicit DaemonSetController(ObjectStore& store)
      : Peer("daemonset-controller", store, {Kind::kDaemonSet, Kind::kPod, Kind::kNode}) {}

 private:
  struct BackOff {
    Time since = {};
    std::chrono::seconds wait = kFirstBackOff;
  };

  void Act(Time now) override;
  bool ClaimPod(const Object& set);
  bool Adopt(const Object& set, const Object& pod);
  bool Release(const Object& set, const Object& pod);
  bool SyncNode(const Object& set, const Object& node, Time now);
  // Returns whether a failed pod may be replaced now. If so, the next one waits longer.
  bool MayReplace(const std::string& place, Time now);
  bool CreatePod(const Object& set, const std::string& node);
  bool RollOne(const Object& set);
  bool SyncStatus(const Object& set);

  std::map<std::string, BackOff> back_offs_;  // By UID of the set and node.
};

// Creates claims from the templates that pods name, writes their names to the pods, and deletes the
// claims when the pods are done.
class ClaimController final : public Peer {
 public:
  explicit ClaimController(ObjectStore& store)
      : Peer("resourceclaim-controller", store, {Kind::kPod, Kind::kClaim, Kind::kClaimTemplate}) {}

 private:
  void Act(Time now) override;
  bool SyncPod(const Object& pod);
  // Returns the claim that was created for the pod's request. Empty if there is none.
  std::string FindClaim(const Object& pod, const PodClaim& wanted) const;
  bool CreateClaim(const Object& pod, const PodClaim& wanted);
  bool TellPod(const Object& pod);
  bool SyncClaim(const Object& claim);
  bool ReleaseClaim(const Object& claim);
  bool Deallocate(const Object& claim, json::Value consumers);

  std::set<kube::Uid> deallocated_;  // Their finalizer must still be removed.
};

// Binds pods to nodes whose devices are published and free. A node has `channel-0` and `daemon-0`,
// each with at most one holder. Of affinity to other pods it knows one required term with
// matchLabels, in the pod's namespace; the first pod of a group may run anywhere. (kubernetes,
// pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.)
class Scheduler final : public Peer {
 public:
  explicit Scheduler(ObjectStore& store)
      : Peer("scheduler", store, {Kind::kPod, Kind::kClaim, Kind::kNode, Kind::kSlice}) {}

 private:
  void Act(Time now) override;
  bool Schedule(const Object& pod);
  bool Fits(const Object& pod, const Object& node) const;
  bool IsNearItsPeers(const Object& pod, const Object& node) const;
  bool IsFree(const std::string& node, const std::string& device) const;
  bool HasGpus(const Object& claim, const std::string& node) const;
  bool Allocate(const Object& pod, const Object& claim, const std::string& node);
  bool SayUnschedulable(const Object& pod);
};

// Deletes objects without a living owner, drops references to owners that do not exist, and
// executes foreground and orphan deletion. Looks owners up in the dependent's own namespace, or
// without a namespace.
class GarbageCollector final : public Peer {
 public:
  explicit GarbageCollector(ObjectStore& store);

 private:
  enum class Owner { kSolid, kAbsent, kWaiting };  // Waiting for its dependents.

  void Act(Time now) override;
  Owner Classify(const Object& dependent, const json::Value& reference) const;
  bool Collect(Kind kind, const Object& object);
  bool FinishDeletion(Kind kind, const Object& object);
  bool HasDependents(const kube::Uid& owner, bool blocking_only) const;
  bool OrphanOne(const kube::Uid& owner);
  bool DropOwners(Kind kind, const Object& object, const std::set<kube::Uid>& owners);
};

// Deletes everything in namespaces that are being deleted, then removes them.
class NamespaceController final : public Peer {
 public:
  // Blocks a namespace while it has content. The real finalizer is in spec.finalizers.
  static constexpr std::string_view kFinalizer = "kubernetes.io/content";

  explicit NamespaceController(ObjectStore& store);

  // Sets the order in which kinds are deleted. The real controller has no order.
  void SetOrder(std::vector<Kind> kinds) { kinds_ = std::move(kinds); }

 private:
  void Act(Time now) override;
  bool DeleteOne(const std::string& ns);
  bool IsEmpty(const std::string& ns) const;

  std::vector<Kind> kinds_;
};

// Marks nodes whose kubelet is silent, and evicts their pods after the tolerated time. Evicts pods
// from other nodes at once if a taint requires it. Removes pods of nodes that do not exist.
class NodeController final : public Peer {
 public:
  static constexpr std::chrono::seconds kMonitorGrace{50};
  static constexpr std::chrono::seconds kTolerated{300};  // Default for pods.

  // Returns since when the kubelet of that node is silent. Empty if it is not.
  using SilentSince = std::function<std::optional<Time>(const std::string& node)>;

  NodeController(ObjectStore& store, SilentSince silent_since)
      : Peer("node-controller", store, {Kind::kNode, Kind::kPod}),
        silent_since_(std::move(silent_since)) {}

 private:
  void Act(Time now) override;
  bool SyncNode(const Object& node, Time now);
  bool EvictOne(const std::string& node, const json::Value& taint);

  const SilentSince silent_since_;
};

}  // namespace simulation

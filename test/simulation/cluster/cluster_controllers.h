// Kubernetes' own controllers, as far as a domain meets them.
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
// tolerates, and counts them in its status. A pod that is being deleted still holds its place. One
// that failed is replaced, on each node ever later. Where the DaemonSet's strategy is not OnDelete,
// pods of an older template are replaced, one at a time. When a DaemonSet goes, the garbage
// collector removes its pods.
//
// It adopts pods of its namespace that its selector matches, unless they have a controller or are
// being deleted, and releases its own pods that the selector no longer matches. (client-go,
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
  [[nodiscard]] bool ClaimPod(const Object& set);
  [[nodiscard]] bool Adopt(const Object& set, const Object& pod);
  [[nodiscard]] bool Release(const Object& set, const Object& pod);
  [[nodiscard]] bool SyncNode(const Object& set, const Object& node, Time now);
  // Whether a pod that failed may be replaced now. If so, the next one waits longer.
  [[nodiscard]] bool MayReplace(const std::string& place, Time now);
  [[nodiscard]] bool CreatePod(const Object& set, const std::string& node);
  [[nodiscard]] bool RollOne(const Object& set);
  [[nodiscard]] bool SyncStatus(const Object& set);

  std::map<std::string, BackOff> back_offs_;  // By the UID of the set, and the node.
};

// Makes claims from the templates that pods name, tells the pods, and takes the claims back when
// the pods are done.
class ClaimController final : public Peer {
 public:
  explicit ClaimController(ObjectStore& store)
      : Peer("resourceclaim-controller", store, {Kind::kPod, Kind::kClaim, Kind::kClaimTemplate}) {}

 private:
  void Act(Time now) override;
  [[nodiscard]] bool SyncPod(const Object& pod);
  // The claim that was made for the pod's request; empty: there is none.
  [[nodiscard]] std::string FindClaim(const Object& pod, const PodClaim& wanted) const;
  [[nodiscard]] bool CreateClaim(const Object& pod, const PodClaim& wanted);
  [[nodiscard]] bool TellPod(const Object& pod);
  [[nodiscard]] bool SyncClaim(const Object& claim);
  [[nodiscard]] bool ReleaseClaim(const Object& claim);
  [[nodiscard]] bool Deallocate(const Object& claim, json::Value consumers);

  std::set<kube::Uid> deallocated_;  // Whose finalizer is still to be taken off.
};

// Puts pods on nodes whose devices are published and free: `channel-0` and `daemon-0`, each with
// one holder.
class Scheduler final : public Peer {
 public:
  explicit Scheduler(ObjectStore& store)
      : Peer("scheduler", store, {Kind::kPod, Kind::kClaim, Kind::kNode, Kind::kSlice}) {}

 private:
  void Act(Time now) override;
  [[nodiscard]] bool Schedule(const Object& pod);
  [[nodiscard]] bool Fits(const Object& pod, const Object& node) const;
  [[nodiscard]] bool IsFree(const std::string& node, const std::string& device) const;
  [[nodiscard]] bool Allocate(const Object& pod, const Object& claim, const std::string& node);
  [[nodiscard]] bool SayUnschedulable(const Object& pod);
};

// Deletes what has no living owner, drops references to owners that do not exist, and carries out
// foreground and orphan deletion. Owners are looked up in the dependent's own namespace, or in
// none.
class GarbageCollector final : public Peer {
 public:
  explicit GarbageCollector(ObjectStore& store);

 private:
  enum class Owner { kSolid, kAbsent, kWaiting };  // Waiting: for its dependents to go first.

  void Act(Time now) override;
  [[nodiscard]] Owner Classify(const Object& dependent, const json::Value& reference) const;
  [[nodiscard]] bool Collect(Kind kind, const Object& object);
  [[nodiscard]] bool FinishDeletion(Kind kind, const Object& object);
  [[nodiscard]] bool HasDependents(const kube::Uid& owner, bool blocking_only) const;
  [[nodiscard]] bool OrphanOne(const kube::Uid& owner);
  [[nodiscard]] bool DropOwners(Kind kind, const Object& object, const std::set<kube::Uid>& owners);
};

// Empties namespaces that are being deleted, then lets them go.
class NamespaceController final : public Peer {
 public:
  // Holds a namespace while it has content. A real one has it in spec.finalizers.
  static constexpr std::string_view kFinalizer = "kubernetes.io/content";

  explicit NamespaceController(ObjectStore& store);

  // Of which kind it deletes everything first: a real one follows no order.
  void SetOrder(std::vector<Kind> kinds) { kinds_ = std::move(kinds); }

 private:
  void Act(Time now) override;
  [[nodiscard]] bool DeleteOne(const std::string& ns);
  [[nodiscard]] bool IsEmpty(const std::string& ns) const;

  std::vector<Kind> kinds_;
};

// Notices nodes whose kubelet is silent, evicts their pods in time, and others whose taints
// say so at once, and removes pods of nodes that no longer exist.
class NodeController final : public Peer {
 public:
  static constexpr std::chrono::seconds kMonitorGrace{50};
  static constexpr std::chrono::seconds kTolerated{300};  // By pods that do not say otherwise.

  // Since when the kubelet of that node has been silent; nothing while it is heard.
  using SilentSince = std::function<std::optional<Time>(const std::string& node)>;

  NodeController(ObjectStore& store, SilentSince silent_since)
      : Peer("node-controller", store, {Kind::kNode, Kind::kPod}),
        silent_since_(std::move(silent_since)) {}

 private:
  void Act(Time now) override;
  [[nodiscard]] bool SyncNode(const Object& node, Time now);
  [[nodiscard]] bool EvictOne(const std::string& node, const json::Value& taint);

  const SilentSince silent_since_;
};

}  // namespace simulation

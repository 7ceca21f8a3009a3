// Cache of watched objects by domain UID; snapshots of one domain.
//
// Thread-safe: the watch thread writes it, workers read it. Calls `changed` on the watch thread
// with the UID of each domain that a change concerns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/api/packed.h"
#include "controller/compute_domain/cache/resource_slice_index.h"
#include "controller/compute_domain/cache/watched_kinds.h"
#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"

namespace compute_domain {

class Cache {
 public:
  using Changed = std::function<void(const kube::Uid& uid)>;
  // Called on the watch thread when a pending channel claim gets a node, with the claim before
  // that.
  using Allocated = std::function<void(const api::ResourceClaim& before)>;
  // Called on the watch thread with the domain when a node gets its label, or a daemon of it
  // becomes ready.
  enum class Progress { kLabelled, kDaemonReady };
  using Progressed = std::function<void(const kube::Uid& uid, Progress progress)>;

  // A collection to watch, and where its objects go.
  struct Watch {
    const WatchedKind* of = nullptr;
    kube::ReflectorOptions options = {};
    kube::ReflectorSink* sink = nullptr;
    const kube::AnyStore* store = nullptr;  // The sink, or null if it is no store.
  };

  Cache(const std::vector<std::string>& driver_namespaces, Changed changed, base::Logger& logger);

  // Call these before anything is watched.
  void OnAllocated(Allocated allocated) { allocated_ = std::move(allocated); }
  void OnProgress(Progressed progressed) { progressed_ = std::move(progressed); }

  const std::vector<Watch>& Watches() const { return watches_; }

  // Returns what is known about the domain, without evidence and facts.
  Observed Read(const kube::Uid& uid) const;

  // Adds the nodes of objects that live reads found. Read() adds only the nodes of cached objects.
  void AddNodes(Observed& observed) const;

  // Returns the claims that hold a channel without a domain or a pod.
  std::vector<api::ResourceClaim> UnrelatedClaims() const;

  // Returns the cliques in which a domain with the label cdom.dev/placement holds a node.
  CliquePlacements Placements() const;
  // Visits every node in the order of names. `placements` comes from Placements().
  using NodeVisitor = std::function<void(const api::Node& node, const NodeContext& context)>;
  void VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const;

  // Returns whether the store shows cdom's write.
  bool HasCaughtUp(const Expectation& expectation) const;

  // Returns every domain that exists or left objects behind.
  std::vector<kube::Uid> DomainUids() const;
  // Visits the domains that exist, in the order of their names.
  using DomainVisitor = std::function<void(const api::ComputeDomain& domain)>;
  void VisitDomains(const DomainVisitor& visit) const { domains_.Visit(visit); }
  // Visits only their keys, UIDs and resourceVersions.
  using VersionVisitor = std::function<void(const kube::ObjectMeta& domain)>;
  void VisitVersions(const VersionVisitor& visit) const { domains_.VisitIdentities(visit); }
  // Returns null if it does not exist.
  std::shared_ptr<const api::ComputeDomain> Domain(const kube::ObjectKey& key) const {
    return domains_.Get(key);
  }
  // Returns "namespace/name" of the domain, or its UID if it does not exist.
  std::string NameOf(const kube::Uid& uid) const;
  // Returns the namespace of the domain. Empty if it does not exist.
  std::string NamespaceOf(const kube::Uid& uid) const;
  // Returns channel claims of the domain that wait for a node.
  std::vector<std::shared_ptr<const api::ResourceClaim>> WaitingClaims(const kube::Uid& uid) const;
  // Returns the number of claims in the cache. Claims of other drivers are not kept.
  std::size_t claims() const { return claims_.size(); }
  // Returns the pods that DaemonSets made for the domain.
  std::vector<std::shared_ptr<const api::DaemonPod>> DaemonPods(const kube::Uid& uid) const;
  // Returns the nodes with the domain's label.
  std::vector<std::shared_ptr<const api::Node>> LabelledNodes(const kube::Uid& uid) const {
    return nodes_.ByIndex(uid);
  }
  std::size_t CountLabelledNodes(const kube::Uid& uid) const { return nodes_.CountByIndex(uid); }

 private:
  struct DriverNamespace {
    DriverNamespace(std::string name, Cache& cache, base::Logger& logger);
    const std::string ns;
    kube::Store<api::DaemonSet, kube::PackedForm> daemon_sets;
    kube::Store<api::DaemonPod, kube::PackedForm> daemon_pods;
    kube::Store<api::Clique> cliques;
  };

  // Null for ResourceSlices: slice_index_. `driver` is for kinds watched in driver namespaces.
  kube::AnyStore* StoreOf(Kind kind, DriverNamespace& driver);
  void AddWatch(const WatchedKind& of, DriverNamespace& driver);
  void ReportAll(const std::set<kube::Uid>& uids) const;
  // Returns the domains with a pod, member or claim on the node.
  std::set<kube::Uid> DomainsOn(const std::string& node) const;
  void OnClaim(const std::shared_ptr<const api::ResourceClaim>& before,
               const std::shared_ptr<const api::ResourceClaim>& after);
  void OnPublisher(const std::string& node);
  void OnNode(const std::shared_ptr<const api::Node>& before,
              const std::shared_ptr<const api::Node>& after);
  void OnClique(const std::shared_ptr<const api::Clique>& before,
                const std::shared_ptr<const api::Clique>& after);
  void OnDaemonPod(const std::shared_ptr<const api::DaemonPod>& before,
                   const std::shared_ptr<const api::DaemonPod>& after);
  void OnReboot(const api::Node& node);
  void TakeClaims(Observed& observed) const;
  std::vector<kube::Uid> DomainsConcernedBy(const api::ResourceClaim& claim) const;
  // Returns whether a change of the claim can concern a domain that it names. The claim must be in
  // the domain's namespace or in a driver namespace. `domain_ns` is empty for a domain that the
  // cache does not have: it may be in any namespace.
  bool Concerns(const api::ResourceClaim& claim, const std::string& domain_ns) const;
  void AddCliqueSharers(Observed& observed) const;
  void AddReboots(Observed& observed) const;

  const Changed changed_;
  Allocated allocated_;
  Progressed progressed_;
  kube::Store<api::ComputeDomain, kube::PackedForm> domains_;
  kube::Store<api::ResourceClaimTemplate, kube::PackedForm> templates_;
  kube::Store<api::ResourceClaim, kube::PackedForm> claims_;
  kube::Store<api::Node, kube::PackedForm> nodes_;
  ResourceSliceIndex slice_index_;
  bool nobody_published_ = true;  // No node published at the last change. Used by the watch thread.
  std::vector<std::unique_ptr<DriverNamespace>> driver_namespaces_;
  std::vector<Watch> watches_;
  // Daemon pods from before a reboot of their node, with the start of their container at that time.
  // A pod is removed when its container has started again.
  base::Guarded<std::map<kube::Uid, std::string>> before_reboot_;
  // Pods whose claim was allocated and is not any more, and such claims that were made for no pod.
  // The pods have ended, so they do not wait for a node. Kubernetes makes a claim again, for a
  // moment, for an ended pod that changes. Exception: the scheduler may undo an allocation to try
  // another node. Such a pod is not reported as waiting until it has a node again. Bound: 10,000,
  // then any of them is forgotten.
  base::Guarded<std::set<kube::Uid>> released_;
};

}  // namespace compute_domain

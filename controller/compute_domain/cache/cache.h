// Everything that is watched, in stores indexed by domain UID; and the snapshot of one domain.
//
// Thread-safe: written by the watch thread, read by workers. `changed` is called on the watch
// thread with the UID of each domain that a change concerns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/api/packed.h"
#include "controller/compute_domain/cache/resource_slice_index.h"
#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"

namespace compute_domain {

class Cache {
 public:
  using Changed = std::function<void(const std::string& uid)>;
  // On the watch thread, with a claim for a channel as it was before a node was found for it.
  using Allocated = std::function<void(const api::ResourceClaim& before)>;

  // A collection to watch and where it goes.
  struct Watch {
    kube::ReflectorOptions options = {};
    kube::ReflectorSink* sink = nullptr;
  };

  Cache(const std::vector<std::string>& driver_namespaces, Changed changed, base::Logger& logger);

  // Before anything is watched.
  void OnAllocated(Allocated allocated) { allocated_ = std::move(allocated); }

  [[nodiscard]] std::vector<Watch> Watches();

  // What is known about the domain; without evidence and facts.
  [[nodiscard]] Observed Gather(const std::string& uid) const;

  // Looks up the nodes of what live reads found, as Gather does for what the cache shows.
  void AddNodes(Observed& observed) const;

  // Who may have the channels that pods of the domain lack.
  void AddNodeHolders(Observed& observed) const;

  // Of the cliques in which a domain that is placed holds a node.
  [[nodiscard]] CliquePlacements Placements() const;
  // Every node with what is known of it, in order of their names. `placements` as above.
  using NodeVisitor = std::function<void(const api::Node& node, const NodeContext& context)>;
  void VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const;

  // Whether the store of the object is as new as a write of ours.
  [[nodiscard]] bool HasCaughtUp(const Expectation& expectation) const;

  // Every domain that exists or left something behind.
  [[nodiscard]] std::vector<std::string> DomainUids() const;
  [[nodiscard]] std::vector<std::shared_ptr<const api::ComputeDomain>> Domains() const {
    return domains_.List();
  }
  // "namespace/name" of the domain, or its UID if there is none.
  [[nodiscard]] std::string NameOf(const std::string& uid) const;
  // Of the domain. Empty if it does not exist.
  [[nodiscard]] std::string NamespaceOf(const std::string& uid) const;
  // Those for a channel that no node was found for yet.
  [[nodiscard]] std::vector<std::shared_ptr<const api::ResourceClaim>> WaitingClaims(
      const std::string& uid) const;
  // Claims that are kept: those of other drivers are not.
  [[nodiscard]] std::size_t claims() const { return claims_.size(); }
  // Those that the domain's DaemonSets made.
  [[nodiscard]] std::vector<std::shared_ptr<const api::DaemonPod>> DaemonPods(
      const std::string& uid) const;
  // The nodes that carry the domain's label.
  [[nodiscard]] std::vector<std::shared_ptr<const api::Node>> LabelledNodes(
      const std::string& uid) const {
    return nodes_.ByIndex(uid);
  }
  [[nodiscard]] std::size_t CountLabelledNodes(const std::string& uid) const {
    return nodes_.CountByIndex(uid);
  }

 private:
  // The kinds of one driver namespace: the rights to them are granted there.
  struct DriverNamespace {
    DriverNamespace(std::string name, Cache& cache, base::Logger& logger);
    const std::string ns;
    kube::Store<api::DaemonSet, kube::PackedForm> daemon_sets;
    kube::Store<api::DaemonPod> daemon_pods;
    kube::Store<api::Clique> cliques;
  };

  // Those with a pod, member or claim on the node.
  [[nodiscard]] std::set<std::string> DomainsOn(const std::string& node) const;
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
  [[nodiscard]] std::vector<std::string> DomainsConcernedBy(const api::ResourceClaim& claim) const;
  // Whether what changes of the claim can matter to that domain. One that is not known, or no more,
  // may be of any namespace.
  [[nodiscard]] bool Concerns(const api::ResourceClaim& claim, const std::string& uid) const;
  void AddCliqueSharers(Observed& observed) const;
  void AddReboots(Observed& observed) const;

  const Changed changed_;
  Allocated allocated_;
  kube::Store<api::ComputeDomain> domains_;
  kube::Store<api::ResourceClaimTemplate, kube::PackedForm> templates_;
  kube::Store<api::ResourceClaim, kube::PackedForm> claims_;
  kube::Store<api::Node, kube::PackedForm> nodes_;
  ResourceSliceIndex slice_index_;
  bool nobody_published_ = true;  // As of the last change. Used by the watch thread.
  std::vector<std::unique_ptr<DriverNamespace>> driver_namespaces_;
  // Daemon pods from before a reboot of their node, with the start of their container then: until
  // they have come up once more.
  base::Guarded<std::map<kube::Uid, std::string>> before_reboot_;
  // Claims that lost their allocation and are not gone yet: their pods have ended, and wait for
  // nothing. (The scheduler may take an allocation back to try another node: until there is one,
  // nobody is told that such a pod waits.) Bound: those of `claims_`.
  base::Guarded<std::set<kube::Uid>> released_;
};

}  // namespace compute_domain

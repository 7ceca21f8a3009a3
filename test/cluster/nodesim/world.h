// What the API server shows: six collections, kept equal to it by watches, and who must look again
// when something in them changes.
//
// Thread-safe to read; written by the thread that drives the reflectors. Bound: one struct for each
// pod that is bound to a node, claim, node, ResourceClaim, slice of our driver, ComputeDomain and
// clique.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/runtime/watch_loop.h"
#include "test/cluster/nodesim/objects.h"
#include "test/cluster/nodesim/seeded_random.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

class World final : public Cluster {
 public:
  // Called on the thread of the reflectors, with the name of any node, ours or not. Must not block.
  using Wake = std::function<void(const std::string& node)>;

  World(Wake wake, std::uint64_t seed, base::Logger& logger);

  void AddTo(kube::WatchLoop& loop);
  // Whether everything was read once. A kind that the API server does not serve yet counts as read,
  // as far as the nodes can do without: they do not need ComputeDomains to live. For the thread of
  // the reflectors.
  [[nodiscard]] bool HasSynced() const;

  [[nodiscard]] std::shared_ptr<const Node> GetNode(const std::string& name) const override;
  [[nodiscard]] std::vector<std::shared_ptr<const Slice>> SlicesOf(
      const std::string& node) const override;
  [[nodiscard]] std::vector<std::shared_ptr<const Pod>> PodsOf(
      const std::string& node) const override;
  [[nodiscard]] std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const override;
  [[nodiscard]] std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const override;
  [[nodiscard]] std::shared_ptr<const Clique> GetClique(const kube::ObjectKey& key) const override;

  [[nodiscard]] std::shared_ptr<const Pod> GetPod(const kube::ObjectKey& key) const;
  [[nodiscard]] std::vector<std::shared_ptr<const Pod>> AllPods() const;

 private:
  template <typename T>
  using Ptr = std::shared_ptr<const T>;

  void OnClaim(const Ptr<Claim>& before, const Ptr<Claim>& after);
  void OnDomain(const Ptr<Domain>& before, const Ptr<Domain>& after);
  void OnClique(const Ptr<Clique>& before, const Ptr<Clique>& after);
  void WakeNodesOfClaim(const Claim& claim);
  void WakeNodesOfDomain(const kube::Uid& uid);

  const Wake wake_;
  SeededRandom random_;
  kube::Store<Node> nodes_;
  kube::Store<Slice> slices_;
  kube::Store<Pod> pods_;
  kube::Store<Claim> claims_;
  kube::Store<Domain> domains_;
  kube::Store<Clique> cliques_;
  kube::Reflector node_reflector_;
  kube::Reflector slice_reflector_;
  kube::Reflector pod_reflector_;
  kube::Reflector claim_reflector_;
  kube::Reflector domain_reflector_;
  kube::Reflector clique_reflector_;
};

}  // namespace nodesim

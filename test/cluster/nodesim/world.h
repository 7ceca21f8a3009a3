// The watched state of the API server, in six collections.
//
// It also wakes the nodes that a change concerns. Reads are thread-safe; the thread of the
// reflectors writes. Bound: one struct for each pod with a node, claim, node, slice of this driver,
// ComputeDomain and clique.
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
  // Called on the reflectors' thread, with the name of any node, simulated or not. Must not block.
  using Wake = std::function<void(const std::string& node)>;

  World(Wake wake, std::uint64_t seed, base::Logger& logger);

  void AddTo(kube::WatchLoop& loop);
  // Returns whether everything was read once. A kind that the API server does not serve yet counts
  // as read if nodes can work without it: they can without ComputeDomains. Call it on the
  // reflectors' thread.
  bool HasSynced() const;

  std::shared_ptr<const Node> GetNode(const std::string& name) const override;
  std::vector<std::shared_ptr<const Slice>> SlicesOf(const std::string& node) const override;
  std::vector<std::shared_ptr<const Pod>> PodsOf(const std::string& node) const override;
  std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const override;
  std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const override;
  std::shared_ptr<const Clique> GetClique(const kube::ObjectKey& key) const override;

  std::shared_ptr<const Pod> GetPod(const kube::ObjectKey& key) const;
  std::vector<std::shared_ptr<const Pod>> AllPods() const;

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

// Everything that is known about one domain; the input of the planner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/compute_domain/model/facts.h"
#include "controller/compute_domain/model/kind.h"
#include "controller/compute_domain/model/memory.h"
#include "pkg/base/find.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// Objects that have the domain's UID or were made for it. `daemon_pods` have the domain's label and
// a DaemonSet as controller. `claims` name the domain in a device config.
struct Children {
  std::vector<api::DaemonSet> daemon_sets = {};
  std::vector<api::ResourceClaimTemplate> templates = {};
  std::vector<api::Clique> cliques = {};
  std::vector<api::DaemonPod> daemon_pods = {};
  std::vector<api::ResourceClaim> claims = {};
  std::vector<api::Node> labelled_nodes = {};
};

// What is known of the name under which a child is to be created.
struct NameCheck {
  enum class Is {
    kNotAsked,
    kTaken,  // A create was refused, and the object that has the name was not read yet.
    kFree,   // A live read found no object.
    kFound,  // A live read, or the reply to a write, shows the object that has the name.
  };
  Is is = Is::kNotAsked;
  NameHolder holder = {};  // Only for kFound.
};
inline NameCheck Found(NameHolder holder) { return {NameCheck::Is::kFound, std::move(holder)}; }

// What a live read showed of a Node. A Node that is not Ready may only have lost its network.
enum class NodeSeen { kMissing, kNotReady, kReady };

// Results of this pass's live reads. Empty if not read.
struct Evidence {
  // The ComputeDomain with this UID. The inner value is empty if it does not exist.
  std::optional<std::optional<kube::ObjectMeta>> owner = {};
  std::optional<Children> children = {};
  std::optional<std::vector<api::DaemonPod>> daemon_pods = {};
  std::vector<api::Clique> cliques = {};                       // Read together with `daemon_pods`.
  std::optional<std::vector<api::ResourceClaim>> claims = {};  // Claims in the domain's namespace.
  std::map<std::string, NodeSeen> nodes = {};                  // Key: name.
  // About pods whose claim has no node. A message is empty if there is none.
  std::optional<SchedulerMessagesRead> scheduler_messages = {};
  std::map<std::pair<Kind, kube::ObjectKey>, NameCheck> names = {};  // Names of children.

  // Returns the domain as a live read showed it. Null if it does not exist or was not read.
  const kube::ObjectMeta* LiveOwner() const { return owner && *owner ? &**owner : nullptr; }
  // Returns kNotAsked for a name that was not checked.
  const NameCheck& NameOf(Kind kind, const kube::ObjectKey& key) const {
    static const NameCheck not_asked;
    const NameCheck* const known = base::Find(names, {kind, key});
    return known == nullptr ? not_asked : *known;
  }
};

// The domains with the label cdom.dev/placement that hold nodes of a clique.
struct CliquePlacement {
  std::set<kube::Uid> domain_uids = {};
  kube::Uid exclusive = {};  // The domain that keeps the clique for itself. Empty if there is none.
  friend bool operator==(const CliquePlacement&, const CliquePlacement&) = default;
};
using CliquePlacements = std::map<std::string, CliquePlacement>;  // Key: clique.

// Number of nodes of a clique by state. A node that a domain holds counts as held, even if broken.
struct CliqueCapacity {
  int free = 0;
  int reserved = 0;  // Would be free, but a domain keeps the clique for itself.
  int held = 0;
  int unusable = 0;
  CliquePlacement placement = {};
  friend bool operator==(const CliqueCapacity&, const CliqueCapacity&) = default;
};
// Key: clique; "" for nodes without fabric.
using CliqueCapacities = std::map<std::string, CliqueCapacity>;
inline std::shared_ptr<const CliqueCapacities> NoCapacity() {
  static const auto none = std::make_shared<const CliqueCapacities>();
  return none;
}

// Facts about a node that are not in its Node object.
struct NodeContext {
  bool has_channel = false;  // A claim has its channel allocated.
  bool publishes = false;    // It publishes ResourceSlices of the driver.
  // "namespace/name" of the domain that keeps its clique for itself. Empty if there is none.
  std::string reserved_for = {};
  std::string fabric_error = {};
};

// The nodes where pods may run that find no channel, by what keeps the pods from them.
struct NodeSurvey {
  struct InClique {
    int nodes = 0;
    int free = 0;  // Also those that are reserved for a domain.
  };
  std::vector<kube::OwnerReference> pods = {};
  std::shared_ptr<const PodReach> reach = {};  // Null if it was not read: any node.
  // The most GPUs that one of the nodes has, of those that the domain asks for. Empty if it asks
  // for none, or if they were not counted. Nodes with fewer than it asks for count nowhere else.
  std::optional<int> gpus_most = {};
  int publishing = 0;                  // Nodes with a kubelet plugin.
  int free = 0;                        // Nodes with a channel that nobody holds.
  int own = 0;                         // Nodes that this domain holds.
  std::set<std::string> holders = {};  // Domains that hold nodes, as "namespace/name".
  // Ready nodes without a plugin: all if none of the nodes has one, else those of a clique.
  std::vector<std::string> without_plugin = {};
  // Claims that hold a channel without a domain or a pod, or from another namespace.
  std::vector<api::ResourceClaim> claims = {};
  // Nodes by clique, also of cliques in which the domain's pods may not run.
  std::map<std::string, InClique> cliques = {};
};

// Other domains and claims that hold what this domain uses or lacks. This only explains: no
// decision depends on it. Domains are named "namespace/name".
struct OtherDomains {
  std::map<kube::Uid, std::string> domains = {};  // Domains that hold one of `nodes`.
  // Domains with members in this domain's cliques. Key: clique.
  std::map<std::string, std::set<std::string>> in_clique = {};
  // While pods find no channel: one for all that may run on the same nodes.
  std::vector<NodeSurvey> surveys = {};
  // Capacity of the whole cluster, while pods are pending and the scheduler has said why. All
  // domains share it. Never null.
  std::shared_ptr<const CliqueCapacities> capacity = NoCapacity();
};

struct Observed {
  kube::Uid uid = {};
  // From the cache.
  std::optional<api::ComputeDomain> domain = {};
  Children children = {};
  // Nodes with the domain's label, a daemon pod, a member or an allocated claim.
  std::map<std::string, api::Node> nodes = {};
  // The `nodes` that publish no ResourceSlice of the driver.
  std::set<std::string> without_slices = {};
  // Fabric error that the kubelet plugin reports. Key: node of `nodes`.
  std::map<std::string, std::string> fabric_errors = {};
  bool nobody_publishes = false;  // No node of the cluster publishes a ResourceSlice of the driver.
  // Nodes that rebooted and whose daemon has not started since, as this process saw, or as the
  // domain's cliques name them. Its pod may still look ready.
  std::set<std::string> rebooted = {};

  // The cache does not show cdom's write of a DaemonSet or claim template, although a pass
  // waited for it.
  bool lacks_own_child = false;

  Facts facts = {};
  Evidence evidence = {};
  Memory memory = {};
  OtherDomains others = {};
};

}  // namespace compute_domain

// Everything known about one domain UID, as values: what the planner decides by.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/compute_domain/model/facts.h"
#include "controller/compute_domain/model/kind.h"
#include "controller/compute_domain/model/memory.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// What carries the domain's UID, or was made for it. `daemon_pods` have the domain's label and a
// DaemonSet as controller; `claims` name the domain in a device config.
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
    kTaken,  // A create was refused, and who has it was not read yet.
    kFree,   // As a live read says.
    kFound,  // A live read or the reply to a write says who has it.
  };
  Is is = Is::kNotAsked;
  NameHolder holder = {};  // kFound.
};
[[nodiscard]] inline NameCheck Found(NameHolder holder) {
  return {NameCheck::Is::kFound, std::move(holder)};
}

// What live reads found in this pass; absent: not read.
struct Evidence {
  // The ComputeDomain with this UID; the inner one is empty if there is none.
  std::optional<std::optional<kube::ObjectMeta>> owner = {};
  std::optional<Children> children = {};
  std::optional<std::vector<api::DaemonPod>> daemon_pods = {};
  std::vector<api::Clique> cliques = {};                       // Read together with them.
  std::optional<std::vector<api::ResourceClaim>> claims = {};  // Of the domain's namespace.
  std::map<std::string, bool> nodes = {};                      // Whether they exist, by name.
  // Why pods wait, by name: the scheduler's own words; empty: it said nothing.
  std::optional<std::map<std::string, std::string>> scheduler_messages = {};
  std::map<std::pair<Kind, kube::ObjectKey>, NameCheck> names = {};  // Of children.

  // The domain as a live read showed it. Null: it is gone, or nobody looked.
  [[nodiscard]] const kube::ObjectMeta* LiveOwner() const {
    return owner && *owner ? &**owner : nullptr;
  }
  // Of a name that nobody asked for: kNotAsked.
  [[nodiscard]] const NameCheck& NameOf(Kind kind, const kube::ObjectKey& key) const {
    static const NameCheck not_asked;
    const auto it = names.find({kind, key});
    return it == names.end() ? not_asked : it->second;
  }
};

// The domains with the label cdom.dev/placement that hold nodes of a clique.
struct CliquePlacement {
  std::set<kube::Uid> domains = {};
  kube::Uid exclusive = {};  // One of them that shares the clique with no other. Empty: none.
  friend bool operator==(const CliquePlacement&, const CliquePlacement&) = default;
};
using CliquePlacements = std::map<std::string, CliquePlacement>;  // By clique.

// Nodes of a clique by what became of them; those that a domain holds count as held, even broken.
struct CliqueCapacity {
  int free = 0;
  int reserved = 0;  // As good as free, in a clique that a domain keeps to itself.
  int held = 0;
  int unusable = 0;
  CliquePlacement placement = {};
  friend bool operator==(const CliqueCapacity&, const CliqueCapacity&) = default;
};
using CliqueCapacities = std::map<std::string, CliqueCapacity>;  // By clique; "": without fabric.

// What is known of a node beside what it says itself.
struct NodeContext {
  bool has_channel = false;       // A claim is allocated that took its channel.
  bool publishes = false;         // ResourceSlices of our driver.
  std::string reserved_for = {};  // "namespace/name" of who keeps its clique to itself.
  std::string fabric_error = {};
};

// Who else has to do with what the domain uses or lacks: it explains, and decides nothing. Domains
// are named "namespace/name".
struct OtherDomains {
  std::map<std::string, std::string> domains = {};              // Who hold one of `nodes`, by UID.
  std::map<std::string, std::set<std::string>> in_clique = {};  // With members in ours, by clique.
  // Where pods find no channel: claims that hold one and are nobody's, and the domains that hold
  // nodes.
  std::vector<api::ResourceClaim> unrelated_claims = {};
  std::set<std::string> node_holders = {};
  CliqueCapacities capacity =
      {};  // Of the whole cluster, while pods wait and the scheduler has said why.
};

struct Observed {
  std::string uid = {};
  // From the cache.
  std::optional<api::ComputeDomain> domain = {};
  Children children = {};
  // Those the domain has to do with: labelled, with a daemon pod, a member, or an allocated claim.
  std::map<std::string, api::Node> nodes = {};
  std::set<std::string> without_slices = {};  // Those of `nodes` that publish none of our driver.
  // What the kubelet plugin of each of `nodes` says that its fabric lacks, by node.
  std::map<std::string, std::string> fabric_errors = {};
  bool nobody_publishes = false;  // No node of the whole cluster does.
  // Nodes that rebooted, and whose daemon has not come up since; its pod may still look ready.
  std::set<std::string> rebooted = {};

  // The cache lacks a DaemonSet or claim template that we made, although it was waited for.
  bool lacks_own_child = false;

  Facts facts = {};
  Evidence evidence = {};
  Memory memory = {};
  OtherDomains others = {};
};

}  // namespace compute_domain

// Facts about all domains: settings of the process, freshness of caches, the cluster. Pure.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "controller/api/types.h"
#include "controller/compute_domain/model/kind.h"
#include "controller/daemon_set/render.h"
#include "pkg/base/clock.h"
#include "pkg/base/find.h"
#include "pkg/base/shared_value.h"
#include "pkg/kube/api/permission.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

// Whether daemons are replaced under a job. The job ends when its IMEX stops.
enum class RolloutPolicy { kWhenIdle, kAlways };

struct RolloutSettings {
  RolloutPolicy policy = RolloutPolicy::kWhenIdle;  // Default for domains without the annotation.
  int cliques_max = 3;  // Cliques of the whole cluster that may be in a rollout at a time.
  std::chrono::seconds settle{10};     // A replacement must serve for this long.
  std::chrono::seconds deadline{300};  // A replacement must start to serve within this time.
};

// Freshness of a cache. An object that is missing from a stale cache may still exist, so its
// absence changes nothing.
enum class Freshness {
  kUnknown,  // Never read: the kind is not served, the permission is missing, or reads fail.
  kStale,    // Last known to be current at least a minute ago.
  kFresh,
};

// Whether the policies that put the pods of a domain into one clique are in force.
enum class PlacementPolicy {
  kUnknown,  // Not read yet, or the permission is missing.
  kInstalled,
  kMissing,           // The binding for domains that ask for a clique does not exist.
  kPreferredMissing,  // Only that for all other domains does not exist.
  kNotServed,         // The API server has no MutatingAdmissionPolicies.
};

// The GPUs of all nodes, as slices of their driver showed them. Empty if they were not read.
struct GpuCount {
  std::shared_ptr<const api::GpusByNode> by_node = {};
  bool is_old = true;  // They are to be read again if a pod waits for GPUs.
};

// Freshness of each cache, and what prevents reading it.
struct Views {
  // Without ComputeDomains. A kind that is not in it is fresh.
  std::map<Kind, Freshness> freshness = {{Kind::kResourceSlice, Freshness::kUnknown}};
  // Kinds that cannot be read, or could not for a minute: why, and how to fix it.
  std::map<Kind, std::string> problems = {};
  // False if the CRD of cliques is not installed. Then the daemons write their entries into the
  // status of the domain, or nobody does.
  bool cliques_are_served = true;
  // DaemonSets and claim templates are being watched at this moment.
  bool children_are_current = true;
  bool claims_are_current = true;  // Claims are being watched at this moment.
  // False if the API server refuses to list or watch claims.
  bool claims_are_read = true;
  // False if cdom has no permission for claims, and works without them. Then it does not know which
  // pods use a domain.
  bool claims_are_granted = true;
  // Additional driver namespaces that cannot be read: they were deleted, lack their Role, or have
  // not answered for a minute. Without `unknown_namespaces`.
  std::set<std::string> unreadable_namespaces = {};
  // Namespaces whose DaemonSets were never read. Anything may be in them.
  std::set<std::string> unknown_namespaces = {};
  // Versions of resource.k8s.io that the API server serves, for each kind. Empty if none.
  std::string template_version = kube::kResourceClaimTemplates.version;
  std::string claim_version = kube::kResourceClaims.version;
  // A kind that children depend on and that is unknown: the condition's reason (DRANotServed,
  // PermissionMissing or ChildrenNotRead), and how to fix it. Empty if all are known.
  std::string problem_reason = {};
  std::string problem = {};

  bool IsFresh(Kind kind) const { return Of(kind) == Freshness::kFresh; }
  bool IsUnknown(Kind kind) const { return Of(kind) == Freshness::kUnknown; }
  Freshness Of(Kind kind) const { return base::FindOr(freshness, kind, Freshness::kFresh); }
  // Returns the entry of `problems`. Empty if there is none.
  std::string ProblemOf(Kind kind) const { return base::FindOr(problems, kind, ""); }
  friend bool operator==(const Views&, const Views&) = default;
};

// Settings of the process that rules read.
struct RuleSettings {
  std::vector<std::string> driver_namespaces = {};  // Children are created in the first.
  daemon_set::DaemonSetSettings daemons = {};
  // The hosts run IMEX. Domains have a claim template for their workload, but no daemons, cliques
  // or node labels.
  bool imex_on_hosts = false;
  std::chrono::seconds deletion_grace{600};
  // Minimum time between two status writes; also the first window of a clique.
  std::chrono::milliseconds status_window{500};
  // Whether messages of a domain may name objects in other namespaces.
  bool names_others = false;
  // Taint keys that announce a node's removal, in the form of api::kLeavingTaints.
  std::vector<std::string> leaving_taints = {api::kLeavingTaints.begin(),
                                             api::kLeavingTaints.end()};
  // An index is kept this long for a node whose daemon was deleted.
  std::chrono::seconds index_hold{60};
  RolloutSettings rollout = {};
  // A node keeps the domain's label this long after its last claim, so that its plugin can remove
  // the label first.
  std::chrono::seconds label_hold{30};
  // How long a node may be without ResourceSlices before this is reported, e.g. while its plugin
  // starts. A restarting kubelet deletes the slices, and the plugin needs 30 s to publish them
  // again.
  std::chrono::seconds plugin_patience{60};
};

// What is known of the cluster besides its objects.
struct ClusterState {
  std::string user = {};  // User name of this process at the API server. Empty if it is not known.
  PlacementPolicy placement = PlacementPolicy::kUnknown;
  // A daemon of the new template that does not serve, and its node. Until it is fixed, no daemon is
  // replaced in any domain. Empty if the rollout continues.
  std::string rollout_stopped = {};
  // Whether the rollout may start in another clique of the cluster.
  bool rollout_has_room = true;
  GpuCount gpus = {};  // Read while pods wait for GPUs.
  // Permissions that the API server refused, and when each is tried again: it may be granted later.
  std::map<kube::Permission, base::Clock::TimePoint> missing_permissions = {};
  // The installed CRD has only the status fields of the reference driver.
  bool status_is_pruned = false;

  // Returns until when cdom works without the permission. Empty if it is not known to be missing.
  std::optional<base::Clock::TimePoint> MissingUntil(const char* verb,
                                                     const kube::Resource& resource) const {
    const auto* const until =
        base::Find(missing_permissions, {.verb = verb, .resource = resource.plural});
    return until == nullptr ? std::nullopt : std::optional(*until);
  }
};

struct Facts {
  base::SharedValue<RuleSettings> settings = {};
  Views views = {};
  ClusterState cluster = {};
};

}  // namespace compute_domain

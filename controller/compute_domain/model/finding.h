// What replies show, as changes of a pass's snapshot. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/api/types.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// Live reads.

struct OwnerFound {
  std::optional<kube::ObjectMeta> owner = {};  // Empty if the domain does not exist.
};
struct ChildrenFound {
  Children children = {};
};
struct DaemonsFound {
  std::vector<api::DaemonPod> daemon_pods = {};
  std::vector<api::Clique> cliques = {};
  bool is_newer = false;  // The cache of cliques is behind, so these replace its cliques.
};
struct ClaimsFound {
  std::vector<api::ResourceClaim> claims = {};
};
struct NodeFound {
  std::string name = {};
  NodeSeen seen = NodeSeen::kMissing;
};
// kNotAsked forgets what was known of the name.
struct NameFound {
  Kind kind = Kind::kDaemonSet;
  kube::ObjectKey key = {};
  NameCheck check = {};
};

struct GpusCounted {
  std::shared_ptr<const api::GpusByNode> by_node = {};
};

// Replies to writes.

struct DomainStored {
  kube::ObjectMeta meta = {};
};
struct CliqueStored {
  api::Clique clique = {};
};
// The label may be gone, so claims that were read before are outdated.
struct ClaimsOutdated {};
struct LabelGone {
  std::string node = {};
};
struct PermissionMissing {
  kube::Permission permission = {};
  base::Clock::TimePoint until = {};  // When it is tried again.
};
struct StatusPruned {
  bool is_pruned = false;
};

using Finding =
    std::variant<OwnerFound, ChildrenFound, DaemonsFound, ClaimsFound, NodeFound, NameFound,
                 SchedulerMessagesRead, GpusCounted, DomainStored, CliqueStored, ClaimsOutdated,
                 LabelGone, PermissionMissing, StatusPruned>;

// Returns the snapshot with what the findings show, one after the other.
Observed Learn(Observed observed, std::vector<Finding> findings);

}  // namespace compute_domain

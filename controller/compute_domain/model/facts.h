// What goes for every domain: settings, how fresh each cache is, and the permissions that are
// missing. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "controller/daemon_set/render.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/permission.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

// Whether daemons are replaced under a job, which ends with its IMEX.
enum class RolloutPolicy { kWhenIdle, kAlways };

struct RolloutSettings {
  RolloutPolicy policy = RolloutPolicy::kWhenIdle;  // Of domains that do not say it themselves.
  int cliques_max = 3;                              // Of the whole cluster, at a time.
  std::chrono::seconds settle{10};                  // A replacement has to serve for so long.
  std::chrono::seconds deadline{300};               // And must begin to within this.
};

// How current the view of a kind is. What is missing from one that is not fresh is unknown, and
// what is unknown changes nothing.
enum class Freshness {
  kUnknown,  // It was never read: it is not served, or we have no right to it.
  kStale,    // As it was a minute ago, or longer.
  kFresh,
};

// How well everything is seen.
struct Views {
  Freshness slices = Freshness::kUnknown;  // ResourceSlices of our driver.
  Freshness nodes = Freshness::kFresh;
  std::string nodes_problem = {};  // Why they are not read, and what to do. Empty: nothing to tell.
  std::string daemons_problem = {};  // The same for daemon pods and cliques.
  // Whether DaemonSets and claim templates are watched at this moment.
  bool children_are_current = true;
  Freshness claims = Freshness::kFresh;
  bool claims_are_current = true;  // They are watched at this moment.
  bool claims_are_read = true;
  // False: we have no right to them, and go on without. Who uses a domain is not known then.
  bool claims_are_granted = true;
  std::string claims_problem = {};  // Why they are not read, and what to do; empty: they are.
  // Additional driver namespaces that are refused to us: deleted, or without their Role.
  std::set<std::string> refused_namespaces = {};
  // Of resource.k8s.io, for each kind of ours on its own: what the API server serves; empty: none.
  std::string template_version = kube::kResourceClaimTemplates.version;
  std::string claim_version = kube::kResourceClaims.version;
  // A kind that cannot be read, and without which no child is made: the reason for the condition
  // (DRANotServed, RightMissing) and a sentence that says what to do. Empty: all is well.
  std::string problem_reason = {};
  std::string problem = {};
  friend bool operator==(const Views&, const Views&) = default;
};

// What goes for every domain.
struct Facts {
  std::vector<std::string> driver_namespaces = {};  // The first is where children are made.
  std::string user = {};  // As whom the API server knows this process. Empty if it is not known.
  daemon_set::DaemonSetSettings daemons = {};
  // IMEX is somebody else's, on the hosts: domains have a claim template for their workload, and
  // no daemons, cliques or labels of nodes.
  bool imex_on_hosts = false;
  std::chrono::seconds deletion_grace{600};
  std::chrono::milliseconds status_window{500};  // And the first of a clique's.
  // Whether a domain's owner reads the names of what lies in other namespaces.
  bool names_others = false;
  // As api::kLeavingTaints, whose they are unless somebody knows better.
  std::vector<std::string> leaving_taints = {api::kLeavingTaints.begin(),
                                             api::kLeavingTaints.end()};
  // An index is kept this long for a node whose daemon went.
  std::chrono::seconds index_hold{60};
  // A node keeps the domain's label this long after the last claim on it: its plugin comes first.
  std::chrono::seconds label_hold{30};
  RolloutSettings rollout = {};
  // A daemon of the new template that does not serve, and where: no more are replaced anywhere.
  std::string rollout_stopped = {};
  // Whether another clique of the cluster may begin to be replaced.
  bool rollout_has_room = true;
  // A node may be without for this long before that is said: while its plugin starts, for instance.
  // A kubelet that restarts takes its slices away, and the plugin needs 30 s to put them back.
  std::chrono::seconds plugin_patience{60};
  Views views = {};
  // Rights that the API server refused us, and until when we do without: any may be granted later.
  std::map<kube::Permission, base::Clock::TimePoint> missing_permissions = {};
  bool status_is_pruned = false;  // The installed CRD knows only the reference's status fields.

  // Until when we do without the right; empty: it is not known to be missing.
  [[nodiscard]] std::optional<base::Clock::TimePoint> MissingUntil(
      const char* verb, const kube::Resource& resource) const {
    const auto lacked = missing_permissions.find({.verb = verb, .resource = resource.plural});
    if (lacked == missing_permissions.end()) return {};
    return lacked->second;
  }
};

}  // namespace compute_domain

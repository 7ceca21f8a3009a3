#include "controller/compute_domain/cache/watched_kinds.h"

#include "controller/api/names.h"
#include "controller/compute_domain/model/action.h"

namespace compute_domain {

namespace {

// The permission for claims is missing under NVIDIA's chart, and then no rule acts that must know
// the users of a domain. Cliques are not served beside NVIDIA's CRDs of 25.8.1.
std::vector<WatchedKind> MakeWatchedKinds() {
  const std::string of_a_domain(api::kDomainLabel);  // With any value.
  constexpr const char* kOfSlices = "a missing kubelet plugin is not noticed";
  constexpr const char* kOfChildren =
      "children are neither created nor repaired, and deletions wait";
  return {
      {.kind = Kind::kComputeDomain,
       .options = {.resource = api::kComputeDomains},
       .is_essential = true,
       .cost = "no domain is served"},
      {.kind = Kind::kClaimTemplate,
       .options = {.resource = kube::kResourceClaimTemplates,
                   .versions = kube::kDraVersions,
                   .label_selector = of_a_domain},
       .is_child = true,
       .cost = kOfChildren,
       .freshness = &Views::templates,
       .version = &Views::template_version,
       .is_current = &Views::children_are_current},
      {.kind = Kind::kClaim,
       .options = {.resource = kube::kResourceClaims,
                   .versions = kube::kDraVersions,
                   .cost_without = "the use of domains is unknown: a deletion waits until no node "
                                   "has the domain's label, and daemons are not replaced"},
       .may_be_refused = true,
       .cost = "no new node joins, and deletions wait",
       .refusal = "this identity may not list and watch ResourceClaims.",
       .freshness = &Views::claims,
       .version = &Views::claim_version,
       .is_current = &Views::claims_are_current,
       .is_read = &Views::claims_are_read,
       .is_granted = &Views::claims_are_granted},
      {.kind = Kind::kNode,
       .options = {.resource = kube::kNodes},
       .cost = "a lost node is not noticed, no daemon is replaced, and deletions wait",
       .freshness = &Views::nodes},
      {.options = {.resource = kube::kResourceSlices,
                   .versions = kube::kDraVersions,
                   .field_selector = "spec.driver=" + std::string(api::kDriver),
                   .cost_without = kOfSlices},
       .may_be_refused = true,
       .may_be_missing = true,
       .only_explains = true,
       .cost = kOfSlices,
       .freshness = &Views::slices},
      {.kind = Kind::kDaemonSet,
       .options = {.resource = kube::kDaemonSets, .label_selector = of_a_domain},
       .is_in_driver_namespaces = true,
       .is_child = true,
       .cost = kOfChildren,
       .freshness = &Views::daemon_sets,
       .is_current = &Views::children_are_current},
      {.kind = Kind::kDaemonPod,
       .options = {.resource = kube::kPods, .label_selector = of_a_domain},
       .is_in_driver_namespaces = true,
       .cost = "members keep their readiness, and deletions wait"},
      // With its version, so that discovery says whether the CRD is installed.
      {.kind = Kind::kClique,
       .options = {.resource = api::kComputeDomainCliques,
                   .versions = {api::kComputeDomainCliques.version}},
       .is_in_driver_namespaces = true,
       .may_be_missing = true,
       .cost = "members are those of status, and deletions wait unless the CRD is missing",
       .freshness = &Views::cliques,
       .is_served = &Views::cliques_are_served},
  };
}

}  // namespace

const std::vector<WatchedKind>& WatchedKinds() {
  static const std::vector<WatchedKind> kinds = MakeWatchedKinds();
  return kinds;
}

}  // namespace compute_domain

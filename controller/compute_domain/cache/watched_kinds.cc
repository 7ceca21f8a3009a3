#include "controller/compute_domain/cache/watched_kinds.h"

#include "controller/api/names.h"
#include "controller/compute_domain/model/action.h"

namespace compute_domain {

// The permission for claims is missing under NVIDIA's chart, and then no rule acts that must know
// the users of a domain. Cliques are not served beside NVIDIA's CRDs of 25.8.1.
const std::vector<WatchedKind>& WatchedKinds() {
  static const std::string of_a_domain(api::kDomainLabel);  // With any value.
  constexpr const char* kOfSlices = "a missing kubelet plugin is not noticed";
  constexpr const char* kOfChildren =
      "children are neither created nor repaired, and deletions wait";
  static const std::vector<WatchedKind> kinds = {
      {.kind = Kind::kComputeDomain, .is_essential = true, .cost = "no domain is served"},
      {.kind = Kind::kClaimTemplate,
       .options = {.versions = kube::kDraVersions, .label_selector = of_a_domain},
       .is_child = true,
       .cost = kOfChildren,
       .version = &Views::template_version,
       .is_current = &Views::children_are_current},
      {.kind = Kind::kClaim,
       .options = {.versions = kube::kDraVersions,
                   .cost_without = "the use of domains is unknown: a deletion waits until no node "
                                   "has the domain's label, and daemons are not replaced"},
       .may_be_refused = true,
       .cost = "no new node joins, and deletions wait",
       .refusal = "this identity may not list and watch ResourceClaims.",
       .version = &Views::claim_version,
       .is_current = &Views::claims_are_current,
       .is_read = &Views::claims_are_read,
       .is_granted = &Views::claims_are_granted},
      {.kind = Kind::kNode,
       .cost = "a lost node is not noticed, no daemon is replaced, and deletions wait"},
      {.kind = Kind::kResourceSlice,
       .options = {.versions = kube::kDraVersions,
                   .field_selector = "spec.driver=" + std::string(api::kDriver),
                   .cost_without = kOfSlices},
       .may_be_refused = true,
       .may_be_missing = true,
       .only_explains = true,
       .cost = kOfSlices},
      {.kind = Kind::kDaemonSet,
       .options = {.label_selector = of_a_domain},
       .is_in_driver_namespaces = true,
       .is_child = true,
       .cost = kOfChildren,
       .is_current = &Views::children_are_current},
      {.kind = Kind::kDaemonPod,
       .options = {.label_selector = of_a_domain},
       .is_in_driver_namespaces = true,
       .cost = "members keep their readiness, and deletions wait"},
      // With its version, so that discovery says whether the CRD is installed.
      {.kind = Kind::kClique,
       .options = {.versions = {api::kComputeDomainCliques.version}},
       .is_in_driver_namespaces = true,
       .may_be_missing = true,
       .cost = "members are those of status, and deletions wait unless the CRD is missing",
       .is_served = &Views::cliques_are_served},
  };
  return kinds;
}

}  // namespace compute_domain

#include "test/simulation/apiserver/kinds.h"

#include <algorithm>

namespace simulation {

namespace {

// In the order of the enumeration.
// Source: kubernetes 1.36, the strategies in pkg/registry and, for custom resources, in
// apiextensions-apiserver.
std::vector<KindInfo> MakeKinds() {
  return {
      {.kind = Kind::kComputeDomain,
       .resource = {"resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain", true},
       .custom = true,
       .has_status = true,
       .has_generation = true},
      {.kind = Kind::kClique,
       .resource = {"resource.nvidia.com", "v1beta1", "computedomaincliques", "ComputeDomainClique",
                    true},
       .custom = true,
       .has_generation = true},
      {.kind = Kind::kDaemonSet,
       .resource = kube::kDaemonSets,
       .has_status = true,
       .has_generation = true,
       .unconditional_update = true,
       .immutable = {{"spec", "selector"}}},
      {.kind = Kind::kPod,
       .resource = kube::kPods,
       .has_status = true,
       .has_generation = true,
       .unconditional_update = true,
       .immutable = {{"spec"}},
       .selectable = {"spec.nodeName", "status.phase"}},
      {.kind = Kind::kNode,
       .resource = kube::kNodes,
       .has_status = true,
       .unconditional_update = true},
      {.kind = Kind::kClaim,
       .resource = kube::kResourceClaims,
       .has_status = true,
       .unconditional_update = true,
       .immutable = {{"spec"}}},
      {.kind = Kind::kClaimTemplate,
       .resource = kube::kResourceClaimTemplates,
       .unconditional_update = true,
       .immutable = {{"spec"}}},
      {.kind = Kind::kSlice,
       .resource = kube::kResourceSlices,
       .unconditional_update = true,
       .selectable = {"spec.driver", "spec.nodeName"}},
      {.kind = Kind::kLease, .resource = kube::kLeases, .create_on_update = true},
      {.kind = Kind::kNamespace,
       .resource = kube::kNamespaces,
       .has_status = true,
       .unconditional_update = true},
      {.kind = Kind::kEvent,
       .resource = {"events.k8s.io", "v1", "events", "Event", true},
       .unconditional_update = true,
       .selectable = {"regarding.uid"}},
  };
}

const std::vector<KindInfo>& Kinds() {
  static const std::vector<KindInfo> kinds = MakeKinds();
  return kinds;
}

}  // namespace

const KindInfo& Describe(Kind kind) { return Kinds()[static_cast<std::size_t>(kind)]; }

const KindInfo* FindKind(std::string_view group, std::string_view version,
                         std::string_view plural) {
  for (const KindInfo& info : Kinds()) {
    const kube::Resource& resource = info.resource;
    if (resource.plural == plural && resource.group == group && resource.version == version) {
      return &info;
    }
  }
  return nullptr;
}

const KindInfo* FindOwnerKind(std::string_view api_version, std::string_view kind) {
  for (const KindInfo& info : Kinds()) {
    if (info.resource.kind == kind && info.resource.ApiVersion() == api_version) return &info;
  }
  return nullptr;
}

}  // namespace simulation

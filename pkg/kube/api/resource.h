// Kubernetes resources, and how the API server names them.
#pragma once

#include <string>
#include <vector>

#include "pkg/kube/api/meta.h"

namespace kube {

// A kind of object and where the API server serves it.
struct Resource {
  std::string group = {};    // Empty for the core group.
  std::string version = {};  // Such as "v1".
  std::string plural = {};   // Such as "nodes".
  std::string kind = {};     // Such as "Node".
  bool namespaced = true;
  friend auto operator<=>(const Resource&, const Resource&) = default;

  // Returns "v1" or "apps/v1".
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  // Returns "nodes" or "daemonsets.apps", as RBAC names it.
  std::string QualifiedName() const { return group.empty() ? plural : plural + "." + group; }
};

inline const Resource kNodes = {"", "v1", "nodes", "Node", false};
inline const Resource kNamespaces = {"", "v1", "namespaces", "Namespace", false};
inline const Resource kPods = {"", "v1", "pods", "Pod", true};
inline const Resource kDaemonSets = {"apps", "v1", "daemonsets", "DaemonSet", true};
inline const Resource kEvents = {"events.k8s.io", "v1", "events", "Event", true};
inline const Resource kLeases = {"coordination.k8s.io", "v1", "leases", "Lease", true};
// Versions of resource.k8s.io, the preferred first. Kubernetes 1.32 added v1beta1, 1.34 added v1.
inline const std::vector<std::string> kDraVersions = {"v1", "v1beta2", "v1beta1"};
inline const Resource kResourceClaims = {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
                                         true};
inline const Resource kResourceClaimTemplates = {"resource.k8s.io", "v1", "resourceclaimtemplates",
                                                 "ResourceClaimTemplate", true};
inline const Resource kResourceSlices = {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                         false};

}  // namespace kube

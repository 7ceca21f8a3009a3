// The two ResourceClaimTemplates that a domain should have, in a version of resource.k8s.io: one of
// kube::kDraVersions. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/api/types.h"
#include "pkg/json/value.h"

namespace resource_claim_template {

// From which each daemon's claim is made; in the driver namespace. `domain` is the UID.
[[nodiscard]] json::Value RenderDaemon(const std::string& domain, const std::string& ns,
                                       const std::string& version);

// What a claim of the workload asks for beside its channel; a claim has devices of one node only.
struct Gpus {
  std::string device_class = {};
  int count = 0;  // 0: all that the node has.
};

// From which the workload's channel claims are made; in the domain's namespace, under the name that
// its spec gives, and owned by it, so that the garbage collector removes one that a stale view made
// after its domain was gone.
[[nodiscard]] json::Value RenderWorkload(const api::ComputeDomain& domain,
                                         const std::optional<Gpus>& gpus,
                                         const std::string& version);

}  // namespace resource_claim_template

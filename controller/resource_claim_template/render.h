// Renders the two ResourceClaimTemplates of a domain. Pure.
// `version` is a version of resource.k8s.io: one of kube::kDraVersions.
#pragma once

#include <optional>
#include <string>

#include "controller/api/types.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace resource_claim_template {

// Returns the template of daemon claims, in driver namespace `ns`.
json::Value RenderDaemon(const kube::Uid& domain_uid, const std::string& ns,
                         const std::string& version);

// GPUs in each workload claim, beside its channel. A claim has devices of only one node.
struct Gpus {
  std::string device_class = {};
  int count = 0;  // 0 for all GPUs of the node.
};

// Returns the template of the workload's channel claims. It is in the domain's namespace, with the
// name from its spec. The domain owns it: if a stale cache lets cdom create it after the domain's
// deletion, the garbage collector deletes it.
json::Value RenderWorkload(const api::ComputeDomain& domain, const std::optional<Gpus>& gpus,
                           const std::string& version);

}  // namespace resource_claim_template

// Fields of each type that stores keep packed; see pkg/kube/cache/packed.h.
#pragma once

#include <tuple>

#include "controller/api/types.h"

namespace api {

inline auto Fields(DaemonSet& set) {
  auto& [meta, domain, template_hash, template_generation, has_own_names, last_writer] = set;
  return std::tie(meta, domain, template_hash, template_generation, has_own_names, last_writer);
}

inline auto Fields(ResourceClaimTemplate& found) {
  auto& [meta, domain, target, template_hash, labels_claims, last_writer] = found;
  return std::tie(meta, domain, target, template_hash, labels_claims, last_writer);
}

inline auto Fields(ResourceClaim& claim) {
  auto& [meta, channel_domain, daemon_domain, node, consumers, admin_access, has_channel,
         is_labelled] = claim;
  return std::tie(meta, channel_domain, daemon_domain, node, consumers, admin_access, has_channel,
                  is_labelled);
}

inline auto Fields(Node& node) {
  auto& [meta, domain, clique, boot_id, ready, unschedulable, taints] = node;
  return std::tie(meta, domain, clique, boot_id, ready, unschedulable, taints);
}

}  // namespace api

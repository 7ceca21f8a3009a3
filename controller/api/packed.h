// Fields of each type that stores keep packed; see pkg/kube/cache/packed.h.
#pragma once

#include <tuple>

#include "controller/api/types.h"

namespace api {

inline auto Fields(Member& member) {
  auto& [node, ip, clique, index, ready] = member;
  return std::tie(node, ip, clique, index, ready);
}

inline auto Fields(CliqueSummary& summary) {
  auto& [id, members, ready] = summary;
  return std::tie(id, members, ready);
}

inline auto Fields(DomainStatus& found) {
  auto& [status, nodes, generation, conditions, members, cliques] = found;
  return std::tie(status, nodes, generation, conditions, members, cliques);
}

inline auto Fields(ComputeDomain& domain) {
  auto& [meta, has_spec, num_nodes, template_name, allocation_mode, deletion_grace, paused,
         daemon_roll, placement_group, gpus, gpu_class, placement, unknown_annotations,
         unknown_labels, status, foreign_write, last_writer, last_status_writer] = domain;
  return std::tie(meta, has_spec, num_nodes, template_name, allocation_mode, deletion_grace, paused,
                  daemon_roll, placement_group, gpus, gpu_class, placement, unknown_annotations,
                  unknown_labels, status, foreign_write, last_writer, last_status_writer);
}

inline auto Fields(ImexReport& report) {
  auto& [index, state, version, started, restarts, in_use, unreachable, unreachable_count,
         peers_known, peers_unanswered] = report;
  return std::tie(index, state, version, started, restarts, in_use, unreachable, unreachable_count,
                  peers_known, peers_unanswered);
}

inline auto Fields(DaemonPod& pod) {
  auto& [meta, domain, node, ip, clique, ready, terminal, trouble, controller_writes, has_own_names,
         template_hash, started, imex] = pod;
  return std::tie(meta, domain, node, ip, clique, ready, terminal, trouble, controller_writes,
                  has_own_names, template_hash, started, imex);
}

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

#include "controller/compute_domain/model/finding.h"

#include <utility>

#include "pkg/base/find.h"
#include "pkg/base/overload.h"

namespace compute_domain {
namespace {

void Learn(Observed& observed, ChildrenFound found) {
  for (const api::Node& node : found.children.labelled_nodes) {
    observed.nodes.insert_or_assign(node.meta.key.name, node);
  }
  observed.evidence.children = std::move(found.children);
}

void Learn(Observed& observed, DaemonsFound found) {
  observed.evidence.daemon_pods = std::move(found.daemon_pods);
  if (found.is_newer) observed.children.cliques = found.cliques;
  observed.evidence.cliques = std::move(found.cliques);
}

void Learn(Observed& observed, NameFound found) {
  if (found.check.is == NameCheck::Is::kNotAsked) {
    observed.evidence.names.erase({found.kind, found.key});
  } else {
    observed.evidence.names[{found.kind, found.key}] = std::move(found.check);
  }
}

void Learn(Observed& observed, const CliqueStored& written) {
  for (api::Clique& clique : observed.children.cliques) {
    if (clique.meta.uid == written.clique.meta.uid) clique = written.clique;
  }
}

void Learn(Observed& observed, const LabelGone& gone) {
  std::erase_if(observed.children.labelled_nodes,
                [&](const api::Node& node) { return node.meta.key.name == gone.node; });
  if (api::Node* const node = base::Find(observed.nodes, gone.node)) node->domain.clear();
}

void Learn(Observed& observed, Finding finding) {
  Evidence& evidence = observed.evidence;
  std::visit(
      base::Overload{
          [&](OwnerFound& found) { evidence.owner.emplace(std::move(found.owner)); },
          [&](ClaimsFound& found) { evidence.claims = std::move(found.claims); },
          [&](NodeFound& found) { evidence.nodes[found.name] = found.seen; },
          [&](SchedulerMessagesRead& read) { evidence.scheduler_messages = std::move(read); },
          [&](DomainStored& stored) {
            if (observed.domain) observed.domain->meta = std::move(stored.meta);
          },
          [&](GpusCounted& counted) {
            observed.facts.cluster.gpus = {.by_node = std::move(counted.by_node), .is_old = false};
          },
          [&](PermissionMissing& missing) {
            observed.facts.cluster.missing_permissions[missing.permission] = missing.until;
          },
          [&](ClaimsOutdated&) { evidence.claims.reset(); },
          [&](StatusPruned& status) { observed.facts.cluster.status_is_pruned = status.is_pruned; },
          [&](auto& other) { Learn(observed, std::move(other)); }},
      finding);
}

}  // namespace

Observed Learn(Observed observed, std::vector<Finding> findings) {
  for (Finding& finding : findings) Learn(observed, std::move(finding));
  return observed;
}

}  // namespace compute_domain

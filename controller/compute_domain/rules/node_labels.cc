#include "controller/compute_domain/rules/node_labels.h"

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"

namespace compute_domain {

// Normally a plugin labels the node of a starting pod long before this.
constexpr std::chrono::seconds kUnlabelledMax{60};
// The cache of claims may lag behind the cache of pods.
constexpr std::chrono::seconds kUnclaimedFor{10};

std::vector<std::string> IdleNodes(const Observed& observed) {
  const std::set<std::string> used = NodesInUse(observed, observed.children.claims);
  std::vector<std::string> idle;
  for (const api::Node& node : observed.children.labelled_nodes) {
    if (!used.contains(node.meta.key.name)) idle.push_back(node.meta.key.name);
  }
  return idle;
}

std::vector<std::string> UnlabelledNodes(const Observed& observed,
                                         const std::vector<api::ResourceClaim>& claims) {
  const Facts& facts = observed.facts;
  const bool is_seen =
      observed.domain && facts.views.claims_are_read && facts.views.IsFresh(Kind::kNode);
  if (!is_seen || facts.settings->imex_on_hosts) return {};
  std::set<std::string> nodes;
  for (const api::ResourceClaim& claim : claims) {
    const api::Node* const node = base::Find(observed.nodes, claim.node);
    const bool is_used = NeedsLabel(observed, claim) && !claim.consumers.empty();
    if (is_used && node != nullptr && node->ready && node->domain.empty()) {
      nodes.insert(claim.node);
    }
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<std::string> NodesWithoutPods(const Observed& observed, const Instant& now) {
  const Views& views = observed.facts.views;
  if (!views.claims_are_read || !views.IsFresh(Kind::kClaim)) return {};
  const std::vector<api::Member>& members = observed.domain->status.nodes;
  std::vector<std::string> nodes;
  for (const auto& [node, pod] : PodsThatCount(observed)) {
    const auto since = base::FindOr(observed.memory.idle_since, node, now.monotonic);
    const bool is_idle = now.monotonic - since >= kUnclaimedFor;
    const bool is_member = base::Contains(members, node, &api::Member::node);
    // A member that has left status still has its label for some seconds.
    const bool was_member =
        base::FindOr(observed.memory.phases, node, {}).is != MemberPhase::Is::kStarting;
    if (is_idle && !is_member && !was_member && Serves(*pod)) nodes.push_back(node);
  }
  return nodes;
}

NodeLabels PlanNodeLabels(const Observed& observed, const Instant& now) {
  // Claims that cannot be read may be on any node.
  if (!observed.facts.views.claims_are_read) return {};
  NodeLabels labels;
  std::vector<std::string> due;
  for (const std::string& node : IdleNodes(observed)) {
    const auto* const since = base::Find(observed.memory.idle_since, node);
    if (since == nullptr) continue;
    // From then on NodesWithoutPods() returns the node.
    labels.requeue_after.RequeueUnlessDue(*since + kUnclaimedFor - now.monotonic);
    const auto rest = *since + observed.facts.settings->label_hold - now.monotonic;
    if (labels.requeue_after.RequeueUnlessDue(rest)) due.push_back(node);
  }
  std::set<std::string> bare;
  for (const auto& [node, since] : observed.memory.unlabelled_since) {
    const auto rest = since + kUnlabelledMax - now.monotonic;
    if (labels.requeue_after.RequeueUnlessDue(rest)) bare.insert(node);
  }
  const std::set<std::string>& removed = observed.memory.labels_removed;
  const bool restores = !removed.empty() || !bare.empty();
  if (due.empty() && !restores) return labels;
  const kube::ObjectKey& domain = observed.domain->meta.key;
  if (!observed.evidence.claims) labels.actions.emplace_back(ReadClaims{.ns = domain.ns});
  if (restores && !observed.evidence.owner) labels.actions.emplace_back(ReadOwner{.key = domain});
  if (!labels.actions.empty()) return labels;
  std::set<std::string> restored = removed;
  for (const std::string& node : UnlabelledNodes(observed, *observed.evidence.claims)) {
    if (bare.contains(node)) restored.insert(node);
  }
  // If the domain is being deleted, a restored label would survive the teardown.
  const kube::ObjectMeta* owner = observed.evidence.LiveOwner();
  if (owner == nullptr || owner->deleting) restored.clear();
  for (const std::string& node : restored) {
    labels.actions.emplace_back(RestoreNodeLabel{.node = node, .domain_uid = observed.uid});
  }
  const std::set<std::string> used = NodesInUse(observed, *observed.evidence.claims);
  for (const api::Node& node : observed.children.labelled_nodes) {
    const std::string& name = node.meta.key.name;
    if (!base::Contains(due, name) || used.contains(name)) continue;
    labels.actions.emplace_back(RemoveNodeLabel{
        .node = name, .domain_uid = observed.uid, .version = node.meta.resource_version});
  }
  return labels;
}

}  // namespace compute_domain

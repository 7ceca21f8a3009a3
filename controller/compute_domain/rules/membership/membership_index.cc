#include "controller/compute_domain/rules/membership/membership_index.h"

#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"

namespace compute_domain {

EntryByNode ByNode(const std::vector<api::Member>& members) {
  EntryByNode by_node;
  for (const api::Member& member : members) by_node.emplace(member.node, &member);
  return by_node;
}

LiveView::LiveView(const Evidence& evidence) : was_read_(evidence.daemon_pods.has_value()) {
  if (!was_read_) return;
  for (const api::DaemonPod& pod : *evidence.daemon_pods) {
    if (!pod.terminal) pods_[pod.node].push_back(&pod);
  }
  for (const api::Clique& clique : evidence.cliques) {
    std::set<std::string_view>& nodes = listed_[clique.id];
    for (const api::Member& entry : clique.daemons) nodes.insert(entry.node);
  }
}

bool LiveView::Lists(const std::string& id, const std::string& node) const {
  const auto* const nodes = base::Find(listed_, id);
  return nodes != nullptr && nodes->contains(node);
}

namespace {

std::optional<std::set<std::string>> FindUsers(const Observed& observed) {
  if (!observed.facts.views.claims_are_read) return {};
  return NodesInUse(observed, observed.children.claims);
}

}  // namespace

MembershipIndex::MembershipIndex(const Observed& everything)
    : observed(everything),
      pods(PodsThatCount(everything)),
      shown(ByNode(everything.domain->status.nodes)),
      users(FindUsers(everything)),
      live(everything.evidence) {
  for (const auto& [node, pod] : pods) {
    if (pod->clique && !pod->clique->empty()) {
      in_clique[{pod->meta.key.ns, *pod->clique}].push_back(pod);
    }
  }
}

}  // namespace compute_domain

#include "controller/compute_domain/status/debug_page.h"

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/status.h"

namespace compute_domain {

namespace {

json::Value List(const std::vector<std::string>& texts) {
  json::Value list = json::Value::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

std::vector<std::string> WithHolders(const std::map<std::string, std::string>& occupied) {
  std::vector<std::string> texts;
  texts.reserve(occupied.size());
  for (const auto& [node, by] : occupied) texts.push_back(node + " (" + by + ")");
  return texts;
}

// Each by itself, such as "pods/train-2 (Unschedulable: ...)".
std::vector<std::string> EachThatWaits(const Observed& observed) {
  std::vector<std::string> texts;
  for (const auto& [messages, pods] : FindWaiting(observed)) {
    for (const std::string& pod : pods) {
      texts.push_back("pods/" + pod + (messages.empty() ? "" : " (" + messages + ")"));
    }
  }
  return texts;
}

}  // namespace

json::Value Describe(const Observed& seen, const Instant& now) {
  Observed observed = seen;
  observed.facts.names_others = true;
  const kube::ObjectMeta& meta = observed.domain->meta;
  const Membership membership = PlanMembership(observed, now);
  const Analysis analysis = Analyze(observed, membership);
  const Explanation explanation = Explain(observed, now);
  const api::DomainStatus status = DecideStatus({.observed = observed,
                                                 .analysis = analysis,
                                                 .explanation = explanation,
                                                 .membership = membership,
                                                 .now = now});
  return json::Value::Object({{"namespace", meta.key.ns},
                              {"name", meta.key.name},
                              {"uid", meta.uid},
                              {"deleting", meta.deleting},
                              {"users", List(explanation.usage.users)},
                              {"waiting", List(EachThatWaits(observed))},
                              {"heldByOthers", List(WithHolders(explanation.occupied))},
                              {"idleNodes", List(IdleNodes(observed, observed.children.claims))},
                              {"nodesWithoutPlugin", List(explanation.plugins.nodes)},
                              {"outdatedDaemons", List(analysis.outdated)},
                              {"status", api::Encode(status)}});
}

void CliqueDescription::Add(const api::Node& node, const NodeAvailability& room,
                            const std::string& domain) {
  Count(node.clique, room, capacity_);
  nodes_.try_emplace(node.clique, json::Value::Array())
      .first->second.Append(json::Value::Object({{"name", node.meta.key.name},
                                                 {"state", ToString(room.state)},
                                                 {"domain", domain},
                                                 {"why", room.why}}));
}

json::Value CliqueDescription::Take() {
  json::Value cliques = json::Value::Array();
  for (auto& [clique, nodes] : nodes_) {
    const CliqueCapacity& count = capacity_[clique];
    cliques.Append(json::Value::Object({{"clique", clique},
                                        {"free", count.free},
                                        {"reserved", count.reserved},
                                        {"held", count.held},
                                        {"unusable", count.unusable},
                                        {"nodes", std::move(nodes)}}));
  }
  return cliques;
}

}  // namespace compute_domain

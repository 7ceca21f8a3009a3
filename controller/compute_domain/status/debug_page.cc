#include "controller/compute_domain/status/debug_page.h"

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/node_labels.h"
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
  for (const auto& [words, pods] : FindWaiting(observed)) {
    for (const std::string& pod : pods) {
      texts.push_back("pods/" + pod + (words.empty() ? "" : " (" + words + ")"));
    }
  }
  return texts;
}

}  // namespace

json::Value Describe(const Observed& seen, const Instant& now) {
  Observed observed = seen;
  observed.facts.names_others = true;
  const kube::ObjectMeta& meta = observed.domain->meta;
  const Findings findings = Find(observed, now);
  const Usage& usage = findings.usage;
  const api::DomainStatus status =
      DecideStatus(observed, findings, PlanMembership(observed, now), now);
  return json::Value::Object({{"namespace", meta.key.ns},
                              {"name", meta.key.name},
                              {"uid", meta.uid},
                              {"deleting", meta.deleting},
                              {"users", List(usage.users)},
                              {"waiting", List(EachThatWaits(observed))},
                              {"heldByOthers", List(WithHolders(findings.occupied))},
                              {"idleNodes", List(IdleNodes(observed, observed.children.claims))},
                              {"nodesWithoutPlugin", List(findings.plugins.nodes)},
                              {"outdatedDaemons", List(findings.outdated)},
                              {"status", api::Encode(status)}});
}

void CliqueDescription::Add(const api::Node& node, const NodeRoom& room,
                            const std::string& domain) {
  Count(node.clique, room, rooms_);
  nodes_.try_emplace(node.clique, json::Value::Array())
      .first->second.Append(json::Value::Object({{"name", node.meta.key.name},
                                                 {"state", ToString(room.state)},
                                                 {"domain", domain},
                                                 {"why", room.why}}));
}

json::Value CliqueDescription::Take() {
  json::Value cliques = json::Value::Array();
  for (auto& [clique, nodes] : nodes_) {
    const RoomCount& count = rooms_[clique];
    cliques.Append(json::Value::Object({{"clique", clique},
                                        {"free", count.free},
                                        {"held", count.held},
                                        {"unusable", count.unusable},
                                        {"nodes", std::move(nodes)}}));
  }
  return cliques;
}

}  // namespace compute_domain

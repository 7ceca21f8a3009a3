#include "controller/compute_domain/status/debug_page.h"

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/status.h"

namespace compute_domain {

namespace {

using json::Value;

std::vector<std::string> WithHolders(const std::map<std::string, std::string>& occupied) {
  std::vector<std::string> texts;
  texts.reserve(occupied.size());
  for (const auto& [node, by] : occupied) texts.push_back(node + " (" + by + ")");
  return texts;
}

// Describes each waiting pod, e.g. "pods/train-2 (Unschedulable: ...)".
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

Value DescribeDomain(const Observed& seen, const Instant& now) {
  Observed observed = seen;
  observed.facts.settings.Edit().names_others = true;
  const kube::ObjectMeta& meta = observed.domain->meta;
  const Membership membership = PlanMembership(observed, now);
  const Analysis analysis = Analyze(observed, membership);
  const Explanation explanation = Explain(observed, now);
  const api::DomainStatus status = DecideStatus({.observed = observed,
                                                 .analysis = analysis,
                                                 .explanation = explanation,
                                                 .membership = membership,
                                                 .now = now});
  return Value::Object(
      {{"namespace", meta.key.ns},
       {"name", meta.key.name},
       {"uid", meta.uid},
       {"deleting", meta.deleting},
       {"users", Value::ArrayOf(explanation.usage.users)},
       {"waiting", Value::ArrayOf(EachThatWaits(observed))},
       {"advice", explanation.shortage ? Encode(explanation.shortage->advice) : Value()},
       {"heldByOthers", Value::ArrayOf(WithHolders(explanation.occupied))},
       {"idleNodes", Value::ArrayOf(IdleNodes(observed))},
       {"nodesWithoutPlugin", Value::ArrayOf(explanation.plugins.nodes)},
       {"outdatedDaemons", Value::ArrayOf(analysis.outdated)},
       {"status", api::Encode(status)}});
}

void CliqueDescription::Add(const api::Node& node, const NodeAvailability& availability,
                            const std::string& domain_name) {
  Count(node.clique, availability, capacity_);
  nodes_.try_emplace(node.clique, Value::Array())
      .first->second.Append(Value::Object({{"name", node.meta.key.name},
                                           {"state", ToString(availability.state)},
                                           {"domain", domain_name},
                                           {"why", availability.why}}));
}

Value CliqueDescription::Take() {
  Value cliques = Value::Array();
  for (auto& [clique, nodes] : nodes_) {
    const CliqueCapacity& count = capacity_[clique];
    cliques.Append(Value::Object({{"clique", clique},
                                  {"free", count.free},
                                  {"reserved", count.reserved},
                                  {"held", count.held},
                                  {"unusable", count.unusable},
                                  {"nodes", std::move(nodes)}}));
  }
  return cliques;
}

}  // namespace compute_domain

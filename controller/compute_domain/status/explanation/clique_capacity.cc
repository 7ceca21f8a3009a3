#include "controller/compute_domain/status/explanation/clique_capacity.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "controller/compute_domain/status/explanation/warnings.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using State = NodeAvailability::State;

// Returns why no pod can use the node. Empty if a pod can.
std::string WhyUnusable(const api::Node& node, const NodeContext& context, const Facts& facts) {
  if (!node.ready) return "not ready";
  if (std::string notice = NoticeOf(node, facts.settings->leaving_taints); !notice.empty())
    return notice;
  if (!context.fabric_error.empty()) return "fabric error: " + context.fabric_error;
  // Do not report a missing plugin from a stale cache.
  const bool lacks_plugin = !context.publishes && facts.views.IsFresh(Kind::kResourceSlice);
  return lacks_plugin ? "no kubelet plugin" : "";
}

// Returns nodes on which the domain's pods have a channel. Each pod has its own node.
std::set<std::string> NodesWithPods(const Observed& observed) {
  return NodesOf(observed, observed.children.claims, IsChannelClaim);
}

// Returns the cliques of the domain's pods, by the label with which pods are placed.
std::set<std::string> CliquesInUse(const Observed& observed) {
  std::set<std::string> cliques;
  for (const std::string& name : NodesWithPods(observed)) {
    const api::Node* const node = base::Find(observed.nodes, name);
    if (node != nullptr) cliques.insert(node->clique);
  }
  cliques.erase("");
  return cliques;
}

// Counts nodes that the domain holds without a pod on them. Only its own pods can use these.
int OwnFree(const Observed& observed, const std::string& clique) {
  const std::vector<std::string> idle = IdleNodes(observed);
  return static_cast<int>(
      std::ranges::count_if(observed.children.labelled_nodes, [&](const api::Node& node) {
        return node.clique == clique && node.ready &&
               NoticeOf(node, observed.facts.settings->leaving_taints).empty() &&
               base::Contains(idle, node.meta.key.name);
      }));
}

// Returns whether placement keeps the domain out of the clique: another domain is exclusive, or
// this one wants to be and others are there.
bool IsKeptOut(const Observed& observed, const CliquePlacement& placement) {
  const bool others_exclusive = !placement.exclusive.empty() && placement.exclusive != observed.uid;
  const bool has_others = placement.domain_uids.size() > placement.domain_uids.count(observed.uid);
  const bool is_exclusive = observed.domain->placement == api::kPlacementExclusive;
  return IsPlaced(observed) && (others_exclusive || (is_exclusive && has_others));
}

// Counts nodes of the clique that pods of the domain can use now.
int FreeFor(const Observed& observed, const CliqueCapacity& clique) {
  return IsKeptOut(observed, clique.placement) ? 0 : clique.free + clique.reserved;
}

// The cliques for pods of the domain, with the nodes on which these may run.
std::map<std::string, NodeSurvey::InClique> CliquesFor(const Observed& observed,
                                                       const NodeSurvey* survey) {
  std::map<std::string, NodeSurvey::InClique> cliques;
  for (const auto& [id, count] : *observed.others.capacity) {
    if (id.empty()) continue;
    NodeSurvey::InClique& clique = cliques[id];
    clique = {.nodes = NodesOf(count), .free = count.free + count.reserved};
    if (survey != nullptr && survey->reach) {
      clique = base::FindOr(survey->cliques, id, {});
    }
    if (IsKeptOut(observed, count.placement)) clique.free = 0;
  }
  return cliques;
}

// Returns " (1 reserved, 2 unusable)". Empty if both are zero.
std::string Unavailable(int reserved, int unusable) {
  std::string text;
  if (reserved > 0) text = std::to_string(reserved) + " reserved";
  if (unusable > 0) text += (text.empty() ? "" : ", ") + std::to_string(unusable) + " unusable";
  return text.empty() ? "" : " (" + text + ")";
}

// Returns what to do if the clique of the pods has no room for all `needed` ones.
Advice AdviceOnFullClique(const std::map<std::string, NodeSurvey::InClique>& cliques,
                          const std::string& of_pods, int needed) {
  int largest = 0;
  std::string roomy;
  for (const auto& [id, clique] : cliques) {
    largest = std::max(largest, clique.nodes);
    if (roomy.empty() && clique.free >= needed) roomy = id;
  }
  if (needed > largest) return {.what = Advice::Do::kRunPods, .number = largest};
  if (roomy.empty())
    return {.what = Advice::Do::kWaitForNodes, .objects = {of_pods}, .number = needed};
  return {.what = Advice::Do::kStartElsewhere, .objects = {roomy}, .number = needed};
}

// `needed` is the number of all pods. `there` is where they may run, or empty.
std::string Say(const Advice& advice, int needed, const std::string& there) {
  const std::string pods = std::to_string(needed);
  const std::string number = std::to_string(advice.number);
  switch (advice.what) {
    case Advice::Do::kRunPods:
      return "No clique has " + pods + " nodes" + there + " (largest: " + number +
             "): run at most " + number + " pods, or remove the label " +
             std::string(api::kPlacementLabel) + " and start the job again.";
    case Advice::Do::kStartElsewhere:
      return "Wait for nodes there, or start the job again, so that it begins in a clique that "
             "has " +
             pods + " free nodes" + there + ", such as " + advice.objects.front() + ".";
    default:
      return "Wait for nodes there: no other clique has " + pods + " free nodes" + there + " now.";
  }
}

}  // namespace

std::string_view ToString(State state) {
  if (state == State::kHeld) return "held";
  if (state == State::kReserved) return "reserved";
  return state == State::kFree ? "free" : "unusable";
}

std::optional<NodeAvailability> AvailabilityOf(const api::Node& node, const NodeContext& context,
                                               const Facts& facts) {
  if (!node.domain.empty()) return NodeAvailability{.state = State::kHeld};
  if (context.has_channel)
    return NodeAvailability{.state = State::kHeld, .why = "its channel is claimed"};
  if (node.clique.empty() && !context.publishes) return {};
  std::string why = WhyUnusable(node, context, facts);
  if (!why.empty()) return NodeAvailability{.state = State::kUnusable, .why = std::move(why)};
  if (context.reserved_for.empty()) return NodeAvailability{};
  return NodeAvailability{.state = State::kReserved,
                          .why = "its clique is reserved for " + context.reserved_for};
}

void Count(const std::string& clique, const NodeAvailability& availability,
           CliqueCapacities& capacity) {
  CliqueCapacity& count = capacity[clique];
  if (availability.state == State::kFree) ++count.free;
  if (availability.state == State::kReserved) ++count.reserved;
  if (availability.state == State::kHeld) ++count.held;
  if (availability.state == State::kUnusable) ++count.unusable;
}

int NodesOf(const CliqueCapacity& clique) {
  return clique.free + clique.reserved + clique.held + clique.unusable;
}

bool NeedsCapacity(const Observed& observed) {
  const bool may_span = MaySpanCliques(observed) || !observed.domain->placement_group.empty();
  if (!may_span && CliquesInUse(observed).size() > 1) return true;
  return std::ranges::any_of(FindWaiting(observed),
                             [](const auto& waiting) { return !waiting.first.empty(); });
}

std::string DescribeCapacity(const Observed& observed) {
  std::vector<std::tuple<int, std::string, std::string>> cliques;  // Negated free nodes, id, text.
  for (const auto& [clique, count] : *observed.others.capacity) {
    if (clique.empty()) continue;
    const int unheld = count.free + count.reserved;
    const int free = FreeFor(observed, count);
    std::string says = clique + " " + std::to_string(free) + " of " +
                       std::to_string(NodesOf(count)) + Unavailable(unheld - free, count.unusable);
    cliques.emplace_back(-free, clique, std::move(says));
  }
  if (cliques.empty()) return "";
  std::ranges::sort(cliques);
  std::vector<std::string> texts;
  texts.reserve(cliques.size());
  for (auto& [less, clique, says] : cliques) texts.push_back(std::move(says));
  return " Free nodes by clique: " + Names(texts) + ".";
}

std::string CliqueOfPods(const Observed& observed) {
  if (!IsPlaced(observed) || !observed.domain->placement_group.empty()) return "";
  const std::set<std::string> cliques = CliquesInUse(observed);
  // Pods in several cliques are another problem, which MembersReady reports.
  return cliques.size() == 1 ? *cliques.begin() : "";
}

std::optional<Shortage> FindFullClique(const Observed& observed, const NodeSurvey* survey) {
  const std::string clique = CliqueOfPods(observed);
  const auto cliques = CliquesFor(observed, survey);
  const NodeSurvey::InClique* const of_pods = base::Find(cliques, clique);
  if (clique.empty() || of_pods == nullptr) return {};
  int waiting = 0;
  for (const auto& [messages, pods] : FindWaiting(observed)) {
    waiting += static_cast<int>(pods.size());
  }
  const int free = of_pods->free + OwnFree(observed, clique);
  if (free >= waiting) return {};
  const int needed = waiting + static_cast<int>(NodesWithPods(observed).size());
  Advice advice = AdviceOnFullClique(cliques, clique, needed);
  const bool is_selected = survey != nullptr && survey->reach && survey->reach->nodes;
  const std::string there = is_selected ? " " + std::string(kWherePodsMayRun) : "";
  return Shortage{
      MakeFailure(api::kReasonNoRoomInClique,
                  "The pods of this domain are in clique " + clique + ", where " +
                      std::string(api::kPlacementLabel) + " keeps them together; nodes free there" +
                      there + ": " + std::to_string(free) + ", pods that wait: " +
                      std::to_string(waiting) + ". " + Say(advice, needed, there)),
      std::move(advice)};
}

}  // namespace compute_domain

#include "controller/compute_domain/status/explanation/creation_trouble.h"

#include <algorithm>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/next_look.h"
#include "controller/compute_domain/status/explanation/member_phases.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;

auto IsTheSet(const Observed& observed) {
  return
      [&](const api::DaemonSet& set) { return IsDaemonSet(observed, set) && !set.meta.deleting; };
}

// The DaemonSet controller waits for a node that is cordoned or tainted, or evicts from it.
bool TakesDaemon(const Observed& observed, const std::string& node) {
  const auto known = observed.nodes.find(node);
  return known != observed.nodes.end() && !known->second.unschedulable &&
         known->second.taints.empty() && !IsLost(observed, node);
}

// Returns for how long the node has had no daemon. An hour if that was so before this process.
milliseconds WaitedFor(const Observed& observed, const std::string& node, const Instant& now) {
  const auto phase = observed.memory.phases.find(node);
  if (phase == observed.memory.phases.end()) return std::chrono::hours(1);
  const auto& since = phase->second.ends_since ? phase->second.ends_since : phase->second.since;
  if (!since) return std::chrono::hours(1);
  return std::chrono::floor<milliseconds>(now.monotonic - *since);
}

}  // namespace

std::vector<std::string> NodesWithoutDaemon(const Observed& observed, const Analysis& analysis,
                                            const Instant& now) {
  std::vector<std::string> nodes;
  if (std::ranges::none_of(observed.children.daemon_sets, IsTheSet(observed))) return nodes;
  // A pod that is not seen may exist.
  if (!observed.facts.views.ProblemOf(Kind::kDaemonPod).empty()) return nodes;
  for (const api::Member& member : analysis.expected) {
    const bool lacks_pod = !member.ready && !analysis.pods.contains(member.node);
    if (lacks_pod && TakesDaemon(observed, member.node) &&
        !FindPassingPhase(observed, member.node, now)) {
      nodes.push_back(member.node);
    }
  }
  return nodes;
}

CreationTrouble PlanCreationTrouble(const Observed& observed, const Analysis& analysis,
                                    const Instant& now) {
  CreationTrouble trouble;
  const std::vector<std::string> nodes = NodesWithoutDaemon(observed, analysis, now);
  if (nodes.empty()) return trouble;
  // NodesWithoutDaemon() has found it.
  const auto set = std::ranges::find_if(observed.children.daemon_sets, IsTheSet(observed));
  milliseconds waited{0};
  for (const std::string& node : nodes) waited = std::max(waited, WaitedFor(observed, node, now));
  base::Clock::TimePoint due = now.monotonic;
  if (const auto& last = observed.memory.creation_trouble_read) {
    due += UntilNextLook(waited, *last, now.monotonic);
  }
  if (const auto missing = observed.facts.MissingUntil("list", kube::kEvents)) {
    due = std::max(due, *missing);
  }
  if (!trouble.requeue_after.IsDue(due - now.monotonic)) return trouble;
  trouble.read = ReadDaemonSetEvents{.daemon_set = set->meta.key, .uid = set->meta.uid};
  return trouble;
}

}  // namespace compute_domain

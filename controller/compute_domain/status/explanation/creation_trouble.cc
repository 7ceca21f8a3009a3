#include "controller/compute_domain/status/explanation/creation_trouble.h"

#include <algorithm>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/next_look.h"
#include "controller/compute_domain/status/explanation/member_phases.h"
#include "pkg/base/find.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;

// Returns the domain's DaemonSet. Null if it has none that stays.
const api::DaemonSet* DaemonSetOf(const Observed& observed) {
  const auto& sets = observed.children.daemon_sets;
  const auto set = std::ranges::find_if(sets, [&](const api::DaemonSet& one) {
    return IsDaemonSet(observed, one) && !one.meta.deleting;
  });
  return set == sets.end() ? nullptr : &*set;
}

// The DaemonSet controller waits for a node that is cordoned or tainted, or evicts from it.
bool TakesDaemon(const Observed& observed, const std::string& node) {
  const api::Node* const known = base::Find(observed.nodes, node);
  return known != nullptr && !known->unschedulable && known->taints.empty() &&
         !IsLost(observed, node);
}

// Returns for how long the node has had no daemon. An hour if that was so before this process.
milliseconds WaitedFor(const Observed& observed, const std::string& node, const Instant& now) {
  const MemberPhase phase = base::FindOr(observed.memory.phases, node, {});
  const auto& since = phase.ends_since ? phase.ends_since : phase.since;
  if (!since) return std::chrono::hours(1);
  return std::chrono::floor<milliseconds>(now.monotonic - *since);
}

}  // namespace

std::vector<std::string> NodesWithoutDaemon(const Observed& observed, const Analysis& analysis,
                                            const Instant& now) {
  std::vector<std::string> nodes;
  if (DaemonSetOf(observed) == nullptr) return nodes;
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
  milliseconds waited{0};
  for (const std::string& node : nodes) waited = std::max(waited, WaitedFor(observed, node, now));
  base::Clock::TimePoint due = now.monotonic;
  if (const auto& last = observed.memory.creation_trouble_read) {
    due += UntilNextLook(waited, *last, now.monotonic);
  }
  if (const auto missing = observed.facts.cluster.MissingUntil("list", kube::kEvents)) {
    due = std::max(due, *missing);
  }
  if (!trouble.requeue_after.RequeueUnlessDue(due - now.monotonic)) return trouble;
  const kube::ObjectMeta& set = DaemonSetOf(observed)->meta;  // NodesWithoutDaemon() has found it.
  trouble.read = ReadDaemonSetEvents{.daemon_set = set.key, .uid = set.uid};
  return trouble;
}

}  // namespace compute_domain

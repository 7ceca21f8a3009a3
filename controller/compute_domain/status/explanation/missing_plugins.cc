#include "controller/compute_domain/status/explanation/missing_plugins.h"

#include <algorithm>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using TimePoint = base::Clock::TimePoint;

// Time after a deletionTimestamp, when the grace period has passed. A pod should have ended and its
// claims been released.
constexpr std::chrono::minutes kEndsWithin{2};

// Skips a node that only has the label, because node_labels.h removes that label.
std::set<std::string> NodesWithPods(const Observed& observed) {
  std::set<std::string> nodes = NodesOf(observed, observed.children.claims, IsChannelClaim);
  for (const api::DaemonPod& pod : observed.children.daemon_pods) nodes.insert(pod.node);
  return nodes;
}

// Returns whether the domain's status already says that a plugin is missing.
bool IsTold(const Observed& observed) {
  const api::DomainStatus& status = observed.domain->status;
  return status.Says(api::kConditionMembersReady, api::kReasonPluginMissing) ||
         status.Says(api::kConditionMembersReady, api::kReasonPodsStuckTerminating);
}

}  // namespace

std::map<std::string, TimePoint> FindSilentNodes(const Observed& observed, TimePoint now) {
  const Facts& facts = observed.facts;
  const bool is_known = observed.domain && !facts.views.IsUnknown(Kind::kResourceSlice);
  if (!is_known || observed.without_slices.empty()) return {};
  const bool is_told = IsTold(observed);
  std::map<std::string, TimePoint> silent;
  for (const std::string& node : NodesWithPods(observed)) {
    // A lost node has its own reason, and its plugin is lost, too.
    if (!observed.without_slices.contains(node) || IsLost(observed, node)) continue;
    TimePoint since = base::FindOr(observed.memory.silent_since, node, now);
    if (is_told) {
      // A process that has just started continues what status says.
      since = std::min(since, now - facts.settings->plugin_patience);
    } else if (facts.views.Of(Kind::kResourceSlice) == Freshness::kStale &&
               now < since + facts.settings->plugin_patience) {
      since = now;  // From a stale cache, report no further nodes: slices may exist.
    }
    silent.emplace(node, since);
  }
  return silent;
}

MissingPlugins FindMissingPlugins(const Observed& observed, const Instant& now) {
  MissingPlugins missing;
  for (const auto& [node, since] : observed.memory.silent_since) {
    const auto rest = since + observed.facts.settings->plugin_patience - now.monotonic;
    if (missing.requeue_after.RequeueUnlessDue(rest)) missing.nodes.push_back(node);
  }
  if (missing.nodes.empty()) return missing;  // The usual case. No pod can be stuck.
  const auto is_stuck = [&](const kube::ObjectMeta& meta, const std::string& node) {
    if (!std::ranges::binary_search(missing.nodes, node)) return false;
    const auto deleted = base::ParseTime(meta.deletion_timestamp);
    return deleted && missing.requeue_after.RequeueUnlessDue(*deleted + kEndsWithin - now.wall);
  };
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    if (!is_stuck(pod.meta, pod.node)) continue;
    missing.stuck.push_back("pods/" + kube::ToString(pod.meta.key) + " on " + pod.node);
  }
  // Pods of the workload are not watched. Their claims after the domain's deletion show them.
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim) || !is_stuck(observed.domain->meta, claim.node)) continue;
    for (const std::string& consumer : claim.consumers) {
      missing.stuck.push_back(consumer + " on " + claim.node);
    }
  }
  std::ranges::sort(missing.stuck);
  return missing;
}

}  // namespace compute_domain

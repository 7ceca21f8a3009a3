#include "controller/compute_domain/status/explanation/warnings.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "controller/compute_domain/status/explanation/imex_health.h"
#include "controller/compute_domain/status/explanation/unlisted_claims.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using api::Member;

bool Matches(std::string_view pattern, std::string_view taint) {
  if (!pattern.ends_with("/*")) return taint == pattern;
  return taint.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Returns how many members of each clique pods use, the largest first: "3 in c1.0", and sets their
// sum. Leaves out members that a job left behind when it ended, because they share no memory.
std::vector<std::string> CountInUse(const Observed& observed, const std::vector<Member>& expected,
                                    int& sum) {
  const std::set<std::string> in_use = NodesOf(observed, observed.children.claims, IsChannelClaim);
  std::map<std::string, int> by_clique;
  for (const Member& member : expected) {
    if (!member.clique.empty() && in_use.contains(member.node)) ++by_clique[member.clique];
  }
  std::vector<std::pair<int, std::string>> counts;
  counts.reserve(by_clique.size());
  for (const auto& [clique, count] : by_clique) {
    counts.emplace_back(-count, clique);
    sum += count;
  }
  std::ranges::sort(counts);
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [less, clique] : counts)
    texts.push_back(std::to_string(-less) + " in " + clique);
  return texts;
}

// Returns what to do so that pods on so many nodes share memory. Begins in lower case.
std::string HelpToShare(const Observed& observed, int nodes) {
  const std::string label(api::kPlacementLabel);
  const std::string is_meant = label + "=" + std::string(api::kPlacementAny) + " if this is meant.";
  int largest = 0;
  for (const auto& [clique, count] : *observed.others.capacity) {
    if (!clique.empty()) largest = std::max(largest, NodesOf(count));
  }
  if (largest > 0 && largest < nodes) {
    const std::string number = std::to_string(largest);
    return "no clique has " + std::to_string(nodes) + " nodes (largest: " + number +
           "). Run at most " + number + " pods, or label the domain " + is_meant;
  }
  return "to have them in one, label the domain " + label + "=" +
         std::string(api::kPlacementClique) + " and start the job again. Label it " + is_meant;
}

// Each group of pods may be in a clique of its own, and the group of a pod is unknown.
std::optional<SharingIssue> FindSpread(const Observed& observed,
                                       const std::vector<Member>& expected) {
  if (!observed.domain->placement_group.empty() || MaySpanCliques(observed)) return {};
  int in_use = 0;
  const std::vector<std::string> counts = CountInUse(observed, expected, in_use);
  if (counts.size() < 2) return {};
  const std::string label(api::kPlacementLabel);
  const std::string wanted = IsPlaced(observed) ? " although " + label + " asks for one" : "";
  const std::string help =
      IsPlaced(observed)
          ? "The policy of manifests/placement is not installed, or these pods are older than the "
            "label: start the job again."
          : "Pods share no memory across cliques; " + HelpToShare(observed, in_use);
  return SharingIssue{.reason = api::kReasonSpansCliques,
                      .says = " Members in use are in " + std::to_string(counts.size()) +
                              " cliques" + wanted + ": " + Names(counts) + ". " + help};
}

// Finds domains that share a clique. That mostly works, so its failures are hard to explain.
std::optional<SharingIssue> FindSharing(const Observed& observed) {
  std::vector<std::string> shared;
  for (const auto& [clique, others] : observed.others.in_clique) {
    for (const std::string& other : NamesForOwner(observed, others)) {
      shared.push_back(other + " in " + clique);
    }
  }
  if (shared.empty()) return {};
  return SharingIssue{
      .reason = api::kReasonCliqueShared,
      .says = " Other domains have members in the same clique: " + Names(shared) +
              ". Imports of memory may fail now and then; use one domain per clique.",
      .sharing = SharingIssue::Sharing::kMayWork};
}

// Finds fabric errors of nodes that serve, as far as their daemons detect them.
std::optional<SharingIssue> FindFabricErrors(const Observed& observed,
                                             const std::vector<Member>& expected) {
  std::vector<std::string> errors;
  for (const Member& member : expected) {
    const std::string* const error = base::Find(observed.fabric_errors, member.node);
    if (error != nullptr) errors.push_back(member.node + " (" + *error + ")");
  }
  if (errors.empty()) return {};
  return SharingIssue{
      .reason = api::kReasonFabricError,
      .says = " The NVLink fabric has an error: " + Names(errors) +
              ". New pods get no channel there, and running pods may lose the memory that they "
              "share. For administrators: see nvidia-smi -q | grep -A4 Fabric on that node."};
}

std::optional<SharingIssue> FindNoFabric(const std::vector<Member>& expected) {
  std::vector<std::string> without;
  for (const Member& member : expected) {
    if (member.clique.empty()) without.push_back(member.node);
  }
  if (without.empty()) return {};
  if (without.size() < expected.size()) {
    // The members without fabric may be idle.
    return SharingIssue{.reason = api::kReasonNoFabric,
                        .says = " Without NVLink fabric: " + Names(without) +
                                ". Pods there share no memory with the others.",
                        .sharing = SharingIssue::Sharing::kMayWork,
                        .may_be_meant = true};
  }
  return SharingIssue{.reason = api::kReasonNoFabric,
                      .says = " No member has NVLink fabric: " + Names(without) +
                              ". Pods share no memory across nodes. If the nodes should have a "
                              "fabric, see nvidia-smi -q | grep -A4 Fabric on the node."};
}

}  // namespace

std::string NoticeOf(const api::Node& node, const std::vector<std::string>& taints) {
  for (const std::string& taint : node.taints) {
    const std::string_view key = api::KeyOfTaint(taint);
    const bool tells = std::ranges::any_of(
        taints, [&](const std::string& pattern) { return Matches(pattern, key); });
    if (tells) return "taint " + std::string(key);
  }
  return node.unschedulable ? "cordoned" : "";
}

std::string SayWhoLeaves(const Observed& observed, const std::vector<Member>& expected) {
  std::vector<std::string> leaving;
  for (const Member& member : expected) {
    const api::Node* const node = base::Find(observed.nodes, member.node);
    if (!member.ready || node == nullptr) continue;
    const std::string notice = NoticeOf(*node, observed.facts.settings->leaving_taints);
    if (!notice.empty()) leaving.push_back(member.node + " (" + notice + ")");
  }
  if (leaving.empty()) return "";
  return " About to leave: " + Names(leaving) +
         ". They serve until they leave: move their pods in time, or uncordon a node that must "
         "stay.";
}

std::vector<SharingIssue> FindSharingIssues(const Observed& observed, const Analysis& analysis) {
  const PodByNode& pods = analysis.pods;
  const std::vector<Member>& expected = analysis.expected;
  std::vector<SharingIssue> issues;
  for (std::optional<SharingIssue>& issue :
       std::array{FindFabricErrors(observed, expected), FindOtherIndices(pods, expected),
                  FindUnreachable(pods, expected), FindPeersUnknown(pods, expected),
                  FindRestarted(observed), FindUnlisted(observed), FindSpread(observed, expected),
                  FindSharing(observed), FindNoFabric(expected)}) {
    if (issue) issues.push_back(*std::move(issue));
  }
  return issues;
}

}  // namespace compute_domain

#include <algorithm>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

namespace {

using api::Member;

// Returns the cliques of nodes that pods use. An empty one stands for nodes without fabric.
std::set<std::string> CliquesOf(const std::vector<std::string>& used,
                                const std::vector<Member>& expected) {
  std::set<std::string> cliques;
  for (const Member& member : expected) {
    if (std::ranges::binary_search(used, member.node)) cliques.insert(member.clique);
  }
  return cliques;
}

// Judges whether members can share memory. All are ready, and each node that pods use is one.
Verdict JudgeCliques(const StatusInput& input, const std::vector<std::string>& used) {
  const Observed& observed = input.observed;
  const std::set<std::string> cliques = CliquesOf(used, input.analysis.expected);
  if (cliques.contains("")) {
    return {"False", api::kReasonNoFabric, "Pods use nodes without NVLink fabric."};
  }
  const std::string pods = "Pods use " + std::to_string(used.size()) + " ready members";
  const std::string in_cliques = " in " + std::to_string(cliques.size()) + " cliques";
  if (cliques.size() == 1) {
    return {"True", api::kReasonAllInOneClique, pods + " in clique " + *cliques.begin() + "."};
  }
  if (MaySpanCliques(observed)) {
    return {"True", api::kReasonSharedWithinCliques,
            pods + in_cliques + ", and share memory within each of them, as label " +
                std::string(api::kPlacementLabel) + "=" + std::string(api::kPlacementAny) +
                " allows."};
  }
  // FindSharingIssues() returns all others.
  return {"Unknown", api::kReasonGroupsNotRead,
          pods + in_cliques +
              ". Each group of pods must be in one, and cdom does not read which "
              "pods belong to a group."};
}

}  // namespace

Verdict JudgeMemoryShared(const StatusInput& input, const Verdict& members, const Verdict& use,
                          const std::vector<SharingIssue>& issues) {
  const Observed& observed = input.observed;
  if (observed.facts.settings->imex_on_hosts)
    return {"Unknown", api::kReasonHostManaged, members.message};
  if (use.status == "Unknown") return use;
  if (const Verdict unread = FindUnread(observed.facts.views); !unread.reason.empty()) {
    return unread;
  }
  if (members.status == "False") return members;
  if (const Verdict waiting = JudgePendingPods(input); !waiting.reason.empty()) return waiting;
  const std::vector<std::string> used = NodesThatUse(observed);
  if (used.empty()) return {"False", api::kReasonIdle, "No pod uses the domain."};
  for (const SharingIssue& issue : issues) {
    if (issue.sharing == SharingIssue::Sharing::kMayWork) continue;
    const bool fails = issue.sharing == SharingIssue::Sharing::kFails;
    return {fails ? "False" : "Unknown", issue.reason, issue.says.substr(1)};
  }
  return JudgeCliques(input, used);
}

}  // namespace compute_domain

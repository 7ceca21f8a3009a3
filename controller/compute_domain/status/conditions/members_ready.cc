#include <algorithm>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/status/conditions/condition.h"
#include "controller/compute_domain/status/explanation/creation_trouble.h"
#include "controller/compute_domain/status/explanation/imex_health.h"
#include "controller/compute_domain/status/explanation/member_phases.h"
#include "controller/compute_domain/status/explanation/warnings.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using api::Member;

// Returns why the daemon cannot run, as it or its kubelet reports. Empty if neither does.
Trouble FindFault(const StatusInput& input, const Member& member) {
  if (const auto* const error = base::Find(input.observed.fabric_errors, member.node)) {
    return {api::kReasonFabricError, *error};
  }
  const api::DaemonPod* const pod = base::FindOr(input.analysis.pods, member.node, nullptr);
  if (pod == nullptr || pod->meta.deleting) return {};
  if (Trouble imex = ImexTroubleOf(*pod); imex.reason == api::kReasonImexOnHost) return imex;
  return {{}, pod->trouble};
}

// Returns a cause that ends by itself: the daemon starts; its pods have ended; or it ends, and it
// is not known yet why. Else empty.
Trouble FindPassing(const StatusInput& input, const Member& member) {
  const auto phase = FindPassingPhase(input.observed, member.node, input.now);
  if (!phase) return {};
  if (*phase == MemberPhase::Is::kLeaving) return {api::kReasonMembersLeaving, ""};
  const Trouble fault = FindFault(input, member);
  if (!fault.reason.empty() || !fault.detail.empty()) return {};
  return {api::kReasonMembersStarting, ""};
}

Trouble TroubleOf(const StatusInput& input, const Member& member) {
  const Observed& observed = input.observed;
  const api::Node* const node = base::Find(observed.nodes, member.node);
  if (IsLost(observed, member.node)) {
    return {api::kReasonNodeLost, node != nullptr ? "not ready" : "does not exist"};
  }
  if (const auto* const holder = base::Find(input.explanation.occupied, member.node)) {
    return {api::kReasonNodeHeldByAnotherDomain, *holder};
  }
  if (member.ready) return {};
  const bool has_rebooted = observed.rebooted.contains(member.node) ||
                            observed.memory.rebooted_before.contains(member.node);
  if (has_rebooted) return {api::kReasonNodeRebooted, ""};
  if (Trouble passing = FindPassing(input, member); !passing.reason.empty()) return passing;
  if (node != nullptr) {
    if (node->unschedulable) return {api::kReasonNodeDrained, "cordoned"};
    const std::string notice = NoticeOf(*node, observed.facts.settings->leaving_taints);
    if (!notice.empty()) return {api::kReasonNodeTainted, notice};
    if (!node->taints.empty()) {
      return {api::kReasonNodeTainted,
              "taint " + std::string(api::KeyOfTaint(node->taints.front()))};
    }
  }
  if (Trouble fault = FindFault(input, member); !fault.reason.empty()) return fault;
  const api::DaemonPod* const pod = base::FindOr(input.analysis.pods, member.node, nullptr);
  if (pod == nullptr) return {{}, member.ip.empty() ? "no daemon yet" : ""};
  if (pod->meta.deleting) return {};
  // A daemon that is starting has not written its entry yet.
  if (Serves(*pod) && IsSoughtElsewhere(*pod, member)) {
    return {api::kReasonImexAddressDiffers,
            (member.ip.empty() ? "no address" : member.ip) + ", and its daemon pod has " + pod->ip};
  }
  if (Trouble imex = ImexTroubleOf(*pod); !imex.reason.empty()) return imex;
  return {{}, pod->trouble};
}

constexpr std::string_view kDisableImexOnHost =
    "For administrators: disable the service (systemctl disable --now nvidia-imex).";

// Returns what to do about a message that IMEX is known to end with. Empty if there is none in
// `troubles`.
std::string Hint(const std::vector<std::string>& troubles) {
  const bool is_in_use = std::ranges::any_of(troubles, [](const std::string& trouble) {
    return trouble.find(api::kImexInUse) != std::string::npos;
  });
  if (!is_in_use) return "";
  return " IMEX runs on the host of that node already. " + std::string(kDisableImexOnHost);
}

// Returns the command that shows the daemon of the node to an administrator.
std::string ShowDaemon(const Observed& observed, const std::string& node) {
  return " For administrators: `" + KubectlForDaemons(observed, "get pods") +
         " --field-selector spec.nodeName=" + node + "`.";
}

// Returns what to do about nodes that are not ready for an unknown reason: for those without a
// daemon pod why Kubernetes creates none, as far as it says so.
std::string HelpWithUnready(const StatusInput& input, const std::vector<std::string>& nodes) {
  const Observed& observed = input.observed;
  const std::vector<std::string> without = NodesWithoutDaemon(observed, input.analysis, input.now);
  std::string help;
  if (!without.empty()) {
    const std::string& trouble = observed.memory.creation_trouble;
    help += trouble.empty()
                ? ""
                : " Daemon pods for " + Names(without) + " are not created: " + trouble + ".";
    help += " For administrators: `" + KubectlForDaemons(observed, "describe daemonsets") +
            "` shows the Events of the DaemonSet.";
  }
  std::set<std::string> others(nodes.begin(), nodes.end());
  for (const std::string& node : without) others.erase(node);
  return others.empty() ? help : help + ShowDaemon(observed, *others.begin());
}

// Returns what to do about lost nodes. Names the pods there, as far as they are known.
std::string HelpWithLost(const Observed& observed, const std::vector<std::string>& nodes) {
  std::vector<std::string> pods;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim) || !base::Contains(nodes, claim.node)) continue;
    pods.insert(pods.end(), claim.consumers.begin(), claim.consumers.end());
  }
  std::ranges::sort(pods);
  const bool any_exists = std::ranges::any_of(
      nodes, [&](const std::string& node) { return observed.nodes.contains(node); });
  if (pods.empty()) return any_exists ? "Bring the node back, or delete the pods there." : "";
  if (any_exists) return "Bring the node back, or delete the pods there: " + Names(pods) + ".";
  return "Delete the pods that ran there: " + Names(pods) + ".";
}

// A reason why members are not ready. The most severe reason comes first.
struct Rank {
  std::string_view reason = {};
  std::string_view says = {};
  std::string_view help = {};
};
constexpr Rank kRanks[] = {
    {api::kReasonNodeLost, "Lost", ""},
    {api::kReasonNodeRebooted, "Rebooted", "Its daemon starts again by itself."},
    {api::kReasonNodeDrained, "Not ready, and cordoned",
     "Uncordon the node, or delete its pods so that they run elsewhere."},
    {api::kReasonNodeTainted, "Not ready, and tainted",
     "Find out who tainted the node; its pods may have to run elsewhere."},
    {api::kReasonNodeHeldByAnotherDomain, "Held by another domain",
     "Pods there start when the last pod of that domain on the node has ended."},
    {api::kReasonFabricError, "Not ready, and the NVLink fabric has an error",
     "For administrators: see nvidia-smi -q | grep -A4 Fabric on that node, and its fabric "
     "manager; a reboot of the node may help."},
    {api::kReasonImexOnHost, "IMEX runs on the host already", kDisableImexOnHost},
    {api::kReasonImexWaitsForQuorum, "IMEX waits for its peers",
     "It becomes ready when the peers that imported from it are back. Do not restart anything."},
    {api::kReasonImexAddressDiffers, "Peers look for IMEX at another address",
     "The daemon there has not written its address into its clique. For administrators: see its "
     "log, or delete its pod."},
    {{},
     "Not ready",
     "Pods that start there wait: delete them to run elsewhere, or ask an administrator."},
    {api::kReasonMembersStarting, "Starting", "Pods there start when their daemon is ready."},
    {api::kReasonMembersLeaving, "Leaving",
     "Their daemons stop. This is normal once the pods there have ended."},
};

// Returns the most severe reason, the members that are not ready, and what to do.
Verdict JudgeUnready(const StatusInput& input) {
  const std::vector<Member>& members = input.analysis.expected;
  std::vector<Trouble> troubles;
  troubles.reserve(members.size());
  for (const Member& member : members) troubles.push_back(TroubleOf(input, member));
  for (const Rank& rank : kRanks) {
    std::vector<std::string> nodes, named;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Member& member = members[i];
      const Trouble& trouble = troubles[i];
      if (trouble.reason != rank.reason || (member.ready && rank.reason.empty())) continue;
      nodes.push_back(member.node);
      named.push_back(trouble.detail.empty() ? member.node
                                             : member.node + " (" + trouble.detail + ")");
    }
    if (nodes.empty()) continue;
    std::string help(rank.help);
    if (rank.reason == api::kReasonNodeLost) help = HelpWithLost(input.observed, nodes);
    if (rank.reason.empty()) help += HelpWithUnready(input, nodes);
    std::string message = std::string(rank.says) + ": " + Names(named) + "; " + ReadyOf(members) +
                          " members are ready." + (help.empty() ? "" : " " + help) + Hint(named);
    return {"False", rank.reason.empty() ? api::kReasonMembersNotReady : rank.reason,
            std::move(message)};
  }
  return {};
}

// Describes daemons that fail outside the nodes of `members`, e.g. on no node. Empty if none do.
std::string TroubleBefore(const Observed& observed, const std::vector<Member>& members) {
  std::set<std::string> nodes;
  for (const Member& member : members) nodes.insert(member.node);
  std::vector<std::string> pods;
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    if (nodes.contains(pod.node) || pod.trouble.empty() || pod.meta.deleting) continue;
    pods.push_back(pod.meta.key.name + (pod.node.empty() ? "" : " on " + pod.node) + " (" +
                   pod.trouble + ")");
  }
  std::ranges::sort(pods);
  if (pods.empty()) return "";
  return " Daemons that do not start: " + Names(pods) + "." + Hint(pods);
}

// Returns the nodes of daemons that are cut off from their DaemonSet: nothing owns them, or another
// DaemonSet does.
std::vector<std::string> NodesOfOrphans(const Observed& observed) {
  std::set<std::string> nodes;
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    const kube::OwnerReference* owner = pod.meta.ControllerOwner();
    const bool is_ours =
        owner != nullptr &&
        (owner->name == api::DaemonName(observed.uid) ||
         std::ranges::any_of(observed.children.daemon_sets, [&](const api::DaemonSet& set) {
           return set.meta.uid == owner->uid;
         }));
    const bool is_orphan = RunsDaemon(pod) && !is_ours;
    if (is_orphan && !pod.meta.deleting && !pod.node.empty()) nodes.insert(pod.node);
  }
  return {nodes.begin(), nodes.end()};
}

// cdom does not know the state of an IMEX that runs on the hosts.
Verdict JudgeHosts(const Observed& observed) {
  const std::vector<std::string> nodes = NodesThatUse(observed);
  return {"Unknown", api::kReasonHostManaged,
          "IMEX runs on the hosts, and the kubelet plugin asks it before a pod starts." +
              (nodes.empty() ? "" : " Pods use it on " + Names(nodes) + ".")};
}

// Kinds that this condition needs, from the least to the most important: what it says while one of
// them cannot be read.
struct Unread {
  Kind kind = {};
  std::string_view reason = {};
  std::string_view says = {};
};
constexpr Unread kUnread[] = {
    {Kind::kClaim, api::kReasonClaimsNotRead, "Claims cannot be read, so no new node joins"},
    {Kind::kNode, api::kReasonNodesNotRead, "Nodes cannot be read, so a lost node is not noticed"},
    {Kind::kDaemonPod, api::kReasonDaemonsNotRead,
     "Daemon pods cannot be read, so this is not updated"},
    {Kind::kClique, api::kReasonDaemonsNotRead,
     "Cliques cannot be read, so this is not updated from them"},
};

void AddUnread(const Views& views, Verdict& verdict) {
  const Verdict unread = FindUnread(views);
  if (unread.reason.empty()) return;
  if (verdict.status == "True") verdict.reason = unread.reason;
  verdict.message += " " + unread.message;
}

Verdict JudgeMembership(const StatusInput& input, const std::vector<SharingIssue>& issues) {
  const Observed& observed = input.observed;
  const Membership& membership = input.membership;
  const std::vector<Member>& expected = input.analysis.expected;
  if (observed.facts.settings->imex_on_hosts) return JudgeHosts(observed);
  if (!membership.without_index.empty()) {
    return {"False", api::kReasonCliqueFull,
            "No IMEX index is free for " + Names(membership.without_index) + "; a clique holds " +
                std::to_string(observed.facts.settings->daemons.nodes_per_imex_domain_max) +
                " nodes. Run the workload on fewer nodes of it."};
  }
  if (expected.empty()) {
    return {"Unknown", api::kReasonNoMembers,
            "No node takes part." + TroubleBefore(observed, expected)};
  }
  if (Verdict unready = JudgeUnready(input); !unready.reason.empty()) {
    unready.message += TroubleBefore(observed, expected);
    return unready;
  }
  if (static_cast<std::int64_t>(membership.members.size()) < observed.domain->num_nodes) {
    return {"False", api::kReasonWaitingForMembers,
            std::to_string(membership.members.size()) + " of spec.numNodes " +
                std::to_string(observed.domain->num_nodes) + " nodes have joined." +
                TroubleBefore(observed, expected)};
  }
  Verdict all_ready = {"True", api::kReasonAllMembersReady,
                       "All " + ReadyOf(expected) + " members are ready."};
  for (const SharingIssue& issue : issues) {
    all_ready.message += issue.says;
    if (all_ready.reason == api::kReasonAllMembersReady && !issue.may_be_meant) {
      all_ready.reason = issue.reason;
    }
  }
  return all_ready;
}

}  // namespace

std::string ReadyOf(const std::vector<api::Member>& members) {
  const auto ready = std::ranges::count_if(members, &api::Member::ready);
  return std::to_string(ready) + "/" + std::to_string(members.size());
}

std::string KubectlForDaemons(const Observed& observed, std::string_view what) {
  return "kubectl -n " + observed.facts.settings->driver_namespaces.front() + " " +
         std::string(what) + " -l " + std::string(api::kDomainLabel) + "=" + observed.uid;
}

std::string DescribeMissing(const MissingPlugins& missing) {
  return " No kubelet plugin of " + std::string(api::kDriver) + " is registered on " +
         Names(missing.nodes) +
         ": pods of the domain neither start nor end there. For administrators: check that the "
         "plugin's pod runs on that node." +
         (missing.stuck.empty() ? "" : " Pods that do not end: " + Names(missing.stuck) + ".");
}

std::vector<std::string> NodesThatUse(const Observed& observed) {
  const std::set<std::string> nodes = NodesOf(observed, observed.children.claims, IsInUse);
  return {nodes.begin(), nodes.end()};
}

Verdict FindUnread(const Views& views) {
  Verdict found = {"Unknown", "", ""};
  for (const Unread& unread : kUnread) {
    const std::string problem = views.ProblemOf(unread.kind);
    // Without permission for claims a node joins by its label.
    if (problem.empty() || (unread.kind == Kind::kClaim && !views.claims_are_read)) continue;
    found.reason = unread.reason;
    const bool is_missing = unread.kind == Kind::kClique && !views.cliques_are_served;
    found.message += found.message.empty() ? "" : " ";
    found.message +=
        is_missing ? "Cliques are not served, so members come from status alone" : unread.says;
    found.message += ": " + problem + ".";
  }
  return found;
}

Verdict JudgeMembersReady(const StatusInput& input, const std::vector<SharingIssue>& issues) {
  const Observed& observed = input.observed;
  Verdict verdict = JudgeMembership(input, issues);
  if (const std::string leaving = SayWhoLeaves(observed, input.analysis.expected);
      !leaving.empty()) {
    if (verdict.status == "True") verdict.reason = api::kReasonNodeLeaving;
    verdict.message += leaving;
  }
  if (const auto outsiders = NodesWithoutPods(observed, input.now); !outsiders.empty()) {
    if (verdict.status == "True") verdict.reason = api::kReasonMemberWithoutClaim;
    verdict.message +=
        " Not counted, because no pod of the domain has a channel there: " + Names(outsiders) +
        ". For administrators: find out who labels these nodes.";
  }
  if (const auto orphans = NodesOfOrphans(observed); !orphans.empty()) {
    verdict.message += " No DaemonSet of the domain owns the daemons on " + Names(orphans) +
                       ": they run on, and are not replaced. For administrators: if this stays, "
                       "delete these pods when no job runs there.";
  }
  AddUnread(observed.facts.views, verdict);
  const MissingPlugins& missing = input.explanation.plugins;
  if (missing.nodes.empty()) return verdict;
  // These reasons explain why the node cannot be used, with or without its plugin.
  static constexpr std::string_view kGraver[] = {api::kReasonCliqueFull, api::kReasonNodeLost,
                                                 api::kReasonNodeDrained, api::kReasonNodeTainted,
                                                 api::kReasonNodeHeldByAnotherDomain};
  if (!base::Contains(kGraver, verdict.reason)) {
    verdict.reason =
        missing.stuck.empty() ? api::kReasonPluginMissing : api::kReasonPodsStuckTerminating;
  }
  verdict.message += DescribeMissing(missing);
  return verdict;
}

}  // namespace compute_domain

#include "controller/compute_domain/status.h"

#include <algorithm>
#include <map>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/acceptance.h"
#include "controller/compute_domain/children.h"
#include "controller/compute_domain/membership.h"
#include "controller/compute_domain/plugins.h"
#include "controller/compute_domain/roll.h"
#include "controller/compute_domain/usage.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::DomainStatus;
using api::Member;

struct Verdict {
  Verdict() = default;
  Verdict(std::string_view its_status, std::string_view its_reason, std::string its_message)
      : status(its_status), reason(its_reason), message(std::move(its_message)) {}

  std::string_view status = {};  // True, False, Unknown.
  std::string reason = {};
  std::string message = {};
};

Verdict Against(const Failure& failure) { return {"False", failure.reason, failure.message}; }

std::string ReadyOf(const std::vector<Member>& members) {
  const auto ready = std::ranges::count_if(members, &Member::ready);
  return std::to_string(ready) + "/" + std::to_string(members.size());
}

Verdict JudgeAcceptance(const Observed& observed) {
  if (std::optional<Failure> objection = FindObjection(observed)) return Against(*objection);
  if (observed.failure && observed.failure->reason == api::kReasonTemplateNameTaken) {
    return Against(*observed.failure);
  }
  if (IsPaused(observed)) {
    return {"True", api::kReasonPaused,
            "Annotation " + std::string(api::kPausedAnnotation) +
                ": nothing is made, repaired or removed until it is taken off."};
  }
  if (const std::optional<Failure> invalid = FindInvalidAnnotation(observed)) {
    return {"True", api::kReasonAnnotationInvalid, invalid->message};
  }
  return {"True", api::kReasonAccepted, "The domain can be provided for."};
}

Verdict JudgeProvision(const Observed& observed) {
  if (FindObjection(observed)) {
    return {"False", api::kReasonNotAccepted, "Nothing is made before the domain is accepted."};
  }
  if (observed.failure) return Against(*observed.failure);
  const ChildrenState children = FindChildren(observed);
  if (!children.terminating.empty()) {
    return {"False", api::kReasonChildrenTerminating,
            "Being deleted: " + Names(children.terminating) +
                ". Made again once it is gone; pods that use it may wait until then."};
  }
  if (!children.missing.empty() && IsPaused(observed)) {
    return {"False", api::kReasonPaused, "Not made while paused: " + Names(children.missing) + "."};
  }
  if (!children.missing.empty()) {
    return {"False", api::kReasonChildrenMissing, "Being made: " + Names(children.missing) + "."};
  }
  if (const std::vector<std::string> outdated = FindOutdated(observed); !outdated.empty()) {
    return {"True", api::kReasonOutdated,
            "Daemons of an older template are replaced one by one in each clique: " +
                Names(outdated) + "."};
  }
  return {"True", api::kReasonChildrenExist, "DaemonSet and claim templates exist."};
}

// Why a member is not ready, or soon will not be.
struct Trouble {
  std::string_view reason = {};  // Empty: none is known.
  std::string detail = {};
};

Trouble TroubleOf(const Observed& observed, const Member& member) {
  const auto node = observed.nodes.find(member.node);
  if (node == observed.nodes.end()) return {api::kReasonNodeLost, "gone"};
  if (!node->second.ready) return {api::kReasonNodeLost, "not ready"};
  if (member.ready) return {};
  if (observed.rebooted.contains(member.node)) return {api::kReasonNodeRebooted, ""};
  if (node->second.unschedulable) return {api::kReasonNodeDrained, "cordoned"};
  if (!node->second.taints.empty()) {
    return {api::kReasonNodeTainted, "taint " + node->second.taints.front()};
  }
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    const bool says = pod.node == member.node && !pod.trouble.empty() && !pod.meta.deleting;
    if (says) return {{}, pod.trouble};
  }
  return {};
}

// What to do about words of a daemon that are known; empty: they are not.
std::string Hint(const std::string& words) {
  if (words.find(api::kImexInUse) == std::string::npos) return "";
  return " IMEX runs on the host of that node already: stop it there for good (systemctl disable "
         "--now nvidia-imex).";
}

// Members that are not ready, the gravest reason, and what to do about it.
Verdict JudgeUnready(const Observed& observed, const std::vector<Member>& members) {
  struct Rank {
    std::string_view reason = {};
    const char* says = "";
    const char* help = "";
  };
  static constexpr Rank kRanks[] = {
      {api::kReasonNodeLost, "Lost: ", "Bring the node back or delete its pods"},
      {api::kReasonNodeRebooted, "Rebooted: ", "Its daemon comes up again by itself"},
      {api::kReasonNodeDrained,
       "Not ready, and cordoned: ", "Uncordon the node, or move its pods to others"},
      {api::kReasonNodeTainted,
       "Not ready, and tainted: ", "See who tainted the node; its pods may have to move"},
      {{}, "Not ready: ", "Look at the daemon pod of the node in namespace "}};
  for (const Rank& rank : kRanks) {
    std::vector<std::string> nodes;
    for (const Member& member : members) {
      const Trouble trouble = TroubleOf(observed, member);
      if (trouble.reason != rank.reason || (member.ready && rank.reason.empty())) continue;
      nodes.push_back(trouble.detail.empty() ? member.node
                                             : member.node + " (" + trouble.detail + ")");
    }
    if (nodes.empty()) continue;
    std::string message = rank.says + Names(nodes) + ". " + rank.help;
    if (rank.reason.empty()) message += observed.facts.driver_namespaces.front();
    return {"False", rank.reason.empty() ? api::kReasonMembersNotReady : rank.reason,
            message + "; " + ReadyOf(members) + " members are ready." + Hint(message)};
  }
  return {};
}

// Daemons that run into something before their node becomes a member.
std::string TroubleBefore(const Observed& observed, const std::vector<Member>& members) {
  std::vector<std::string> pods;
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    const bool is_member = std::ranges::find(members, pod.node, &Member::node) != members.end();
    if (is_member || pod.trouble.empty() || pod.meta.deleting) continue;
    pods.push_back(pod.meta.key.name + (pod.node.empty() ? "" : " on " + pod.node) + " (" +
                   pod.trouble + ")");
  }
  std::ranges::sort(pods);
  if (pods.empty()) return "";
  const std::string names = Names(pods);
  return " Daemons that do not start: " + names + "." + Hint(names);
}

// Two domains in one clique: it mostly works, which makes it hard to find when it does not.
std::string Sharing(const Observed& observed) {
  std::vector<std::string> shared;
  for (const auto& [clique, others] : observed.clique_shared_with) {
    for (const std::string& other : others) shared.push_back(other + " in " + clique);
  }
  if (shared.empty()) return "";
  return " Other domains have members in the same clique: " + Names(shared) +
         ". Imports of memory may fail now and then; keep one domain to a clique.";
}

// Which plugins are missing, and what to do about it.
std::string Say(const MissingPlugins& missing) {
  return " No kubelet plugin of " + std::string(api::kDriver) + " is registered on " +
         Names(missing.nodes) +
         ": pods of the domain neither start nor end there. Look whether the plugin's pod runs on "
         "that node." +
         (missing.stuck.empty() ? "" : " Pods that do not end: " + Names(missing.stuck) + ".");
}

Verdict JudgeMembership(const Observed& observed, const Membership& membership) {
  const std::vector<Member>& members = membership.members;
  if (!membership.refused.empty()) {
    return {"False", api::kReasonCliqueFull,
            "No IMEX index is free for " + Names(membership.refused) + "; a clique holds " +
                std::to_string(observed.facts.daemons.nodes_per_imex_domain_max) +
                " nodes. Run the workload on fewer nodes of it."};
  }
  const std::vector<std::string> holders = FindHeldNodes(observed);
  const std::string held = holders.empty() ? ""
                                           : " Held by another domain: " + Names(holders) +
                                                 "; pods there wait until it lets go.";
  if (members.empty()) {
    return {"Unknown", held.empty() ? api::kReasonNoMembers : api::kReasonNodeHeld,
            "No node has joined yet. Nodes join when pods that claim a channel from template " +
                observed.domain->template_name + " are scheduled." + held +
                TroubleBefore(observed, members)};
  }
  if (Verdict unready = JudgeUnready(observed, members); !unready.reason.empty()) return unready;
  if (!held.empty()) {
    return {"False", api::kReasonNodeHeld, ReadyOf(members) + " members are ready." + held};
  }
  if (static_cast<std::int64_t>(members.size()) < observed.domain->num_nodes) {
    return {"False", api::kReasonWaitingForMembers,
            std::to_string(members.size()) + " of spec.numNodes " +
                std::to_string(observed.domain->num_nodes) + " nodes have joined." +
                TroubleBefore(observed, members)};
  }
  const std::string all_ready = "All " + ReadyOf(members) + " members are ready.";
  if (const std::string sharing = Sharing(observed); !sharing.empty()) {
    return {"True", api::kReasonCliqueShared, all_ready + sharing};
  }
  return {"True", api::kReasonAllMembersReady, all_ready};
}

Verdict JudgeMembers(const Observed& observed, const Membership& membership, const Instant& now) {
  Verdict verdict = JudgeMembership(observed, membership);
  const MissingPlugins missing = FindMissingPlugins(observed, now);
  if (missing.nodes.empty()) return verdict;
  // Those say why the node as such is of no use, with or without its plugin.
  static constexpr std::string_view kGraver[] = {api::kReasonCliqueFull, api::kReasonNodeLost,
                                                 api::kReasonNodeDrained, api::kReasonNodeTainted,
                                                 api::kReasonNodeHeld};
  const bool is_graver = std::ranges::find(kGraver, verdict.reason) != std::end(kGraver);
  if (!is_graver) {
    verdict.reason = missing.stuck.empty() ? api::kReasonPluginMissing : api::kReasonPodsStuck;
  }
  verdict.message += Say(missing);
  // A daemon that serves goes on doing so; where there is none, pods wait for it.
  std::set<std::string> served;
  for (const Member& member : membership.members) served.insert(member.node);
  const bool all_serve = std::ranges::includes(served, missing.nodes);
  if (verdict.status == "True" && !all_serve) verdict.status = "False";
  return verdict;
}

Verdict JudgeUse(const Observed& observed) {
  const Usage usage = FindUsage(observed);
  const std::string waiting =
      usage.waiting.empty() ? "" : " Waiting for a node: " + Names(usage.waiting) + ".";
  const std::optional<Failure> shortage = FindShortage(observed);
  const std::string says = waiting + (shortage ? " " + shortage->message : "");
  const bool is_stray = shortage && shortage->reason == api::kReasonChannelHeld;
  if (!usage.users.empty()) {
    return {"True", is_stray ? api::kReasonChannelHeld : api::kReasonClaimsReserved,
            "Used by " + Names(usage.users) + "." + says};
  }
  const std::string_view reason = shortage          ? std::string_view(shortage->reason)
                                  : waiting.empty() ? api::kReasonNoClaims
                                                    : api::kReasonPodsWaiting;
  return {"False", reason, "No pod holds a channel of the domain." + says};
}

// What CONTRACT calls the global status: what NVIDIA's users and tools read.
bool IsGloballyReady(const Observed& observed, const std::vector<Member>& members) {
  const bool accepted =
      !FindObjection(observed) && !observed.failure && !observed.domain->meta.deleting;
  return accepted && static_cast<std::int64_t>(members.size()) >= observed.domain->num_nodes &&
         std::ranges::all_of(members, &Member::ready);
}

void AddCondition(const Observed& observed, std::string_view type, const Verdict& verdict,
                  const Instant& now, DomainStatus& status) {
  kube::Condition condition = {.type = std::string(type),
                               .status = std::string(verdict.status),
                               .reason = verdict.reason,
                               .message = verdict.message,
                               .observed_generation = observed.domain->meta.generation,
                               .last_transition_time = base::FormatSeconds(now.wall)};
  const kube::Condition* before = observed.domain->status.Find(type);
  if (before != nullptr && before->status == condition.status) {
    condition.last_transition_time = before->last_transition_time;
  }
  status.conditions.push_back(std::move(condition));
}

// The first of those that Ready sums up that is not true; if all are, the last.
const Verdict& SumUp(const Verdict& accepted, const Verdict& provisioned, const Verdict& members) {
  if (accepted.status != "True") return accepted;
  return provisioned.status != "True" ? provisioned : members;
}

// `deletion` says why the domain is not Ready however its members are; empty: it is not deleted.
DomainStatus Compose(const Observed& observed, const Membership& membership,
                     const std::optional<Verdict>& deletion, const Instant& now) {
  DomainStatus status;
  status.status = IsGloballyReady(observed, membership.members) ? "Ready" : "NotReady";
  status.nodes = membership.members;
  if (observed.facts.status_is_pruned) return status;
  status.observed_generation = observed.domain->meta.generation;
  const Verdict accepted = JudgeAcceptance(observed);
  const Verdict provisioned = JudgeProvision(observed);
  const Verdict members = JudgeMembers(observed, membership, now);
  AddCondition(observed, api::kConditionAccepted, accepted, now, status);
  AddCondition(observed, api::kConditionProvisioned, deletion.value_or(provisioned), now, status);
  AddCondition(observed, api::kConditionMembersReady, members, now, status);
  AddCondition(observed, api::kConditionReady,
               deletion.value_or(SumUp(accepted, provisioned, members)), now, status);
  AddCondition(observed, api::kConditionInUse, JudgeUse(observed), now, status);
  // Conditions of others stay.
  for (const kube::Condition& condition : observed.domain->status.conditions) {
    if (status.Find(condition.type) == nullptr) status.conditions.push_back(condition);
  }
  status.members = ReadyOf(membership.members);
  std::map<std::string, api::CliqueSummary> cliques;
  for (const Member& member : membership.members) {
    api::CliqueSummary& clique = cliques[member.clique];
    clique.id = member.clique;
    clique.members += 1;
    clique.ready += member.ready ? 1 : 0;
  }
  for (const auto& [id, clique] : cliques) status.cliques.push_back(clique);
  return status;
}

// A reader must not go on trusting what was Ready: that is written at once.
bool TakesReadinessAway(const DomainStatus& before, const DomainStatus& after) {
  if (before.status == "Ready" && after.status != "Ready") return true;
  return LosesReadiness(before.nodes, after.nodes);
}

// Whether a write would change anything that the installed CRD keeps.
bool IsSame(const Observed& observed, const DomainStatus& status) {
  const DomainStatus& before = observed.domain->status;
  if (!observed.facts.status_is_pruned) return before == status;
  return before.status == status.status && before.nodes == status.nodes;
}

}  // namespace

DomainStatus DecideStatus(const Observed& observed, const Membership& membership,
                          const Instant& now) {
  return Compose(observed, membership, {}, now);
}

DomainStatus DecideDeletionStatus(const Observed& observed, const Membership& membership,
                                  const DeletionWait& wait, const Instant& now) {
  Verdict verdict = {"False", api::kReasonDeleting, "The domain is being deleted."};
  if (!wait.held.empty()) {
    verdict = {"False", api::kReasonHeldByFinalizer,
               "Finalizers of others keep " + Names(wait.held) +
                   ". Whoever set one takes it off when its work is done; if that component is "
                   "gone, take it off with kubectl edit." +
                   (wait.blockers.empty() ? "" : " There are still " + Names(wait.blockers) + ".")};
  } else if (!wait.blockers.empty()) {
    verdict = {"False", api::kReasonDeletionBlocked,
               "Deletion waits for " + Names(wait.blockers) + ". Delete them, or wait until " +
                   std::to_string(wait.at_most.count()) + " s after the deletion was asked for."};
  } else if (IsPaused(observed)) {
    verdict = {"False", api::kReasonPaused,
               "The deletion waits until the annotation " + std::string(api::kPausedAnnotation) +
                   " is taken off."};
  } else if (observed.failure) {
    verdict = {"False", api::kReasonDeletionBlocked, observed.failure->message};
  }
  const MissingPlugins missing = FindMissingPlugins(observed, now);
  if (!wait.blockers.empty() && !missing.nodes.empty()) verdict.message += Say(missing);
  DomainStatus status = Compose(observed, membership, verdict, now);
  if (!observed.facts.status_is_pruned) {
    const bool blocked = verdict.reason != api::kReasonDeleting;
    verdict.status = blocked ? "True" : "False";
    std::erase_if(status.conditions, [](const kube::Condition& condition) {
      return condition.type == api::kConditionDeletionBlocked;
    });
    AddCondition(observed, api::kConditionDeletionBlocked, verdict, now, status);
  }
  return status;
}

std::optional<WriteStatus> DecideStatusWrite(
    const Observed& observed, const DomainStatus& status, const Instant& now,
    std::optional<std::chrono::milliseconds>& requeue_after) {
  if (IsSame(observed, status)) return {};
  if (observed.status_written && !TakesReadinessAway(observed.domain->status, status)) {
    const auto rest = *observed.status_written + observed.facts.status_window - now.monotonic;
    if (rest > std::chrono::nanoseconds(0)) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(rest);
      requeue_after = requeue_after ? std::min(*requeue_after, wait) : wait;
      return {};
    }
  }
  return WriteStatus{.domain = observed.domain->meta, .status = status};
}

}  // namespace compute_domain

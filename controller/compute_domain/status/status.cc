#include "controller/compute_domain/status/status.h"

#include <algorithm>
#include <map>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/imex_health.h"
#include "controller/compute_domain/status/warnings.h"
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
  // What was made goes on, whether or not we see it.
  if (const std::optional<Failure> blindness = FindBlindness(observed)) {
    return {"True", blindness->reason, "Nothing is made or repaired: " + blindness->message};
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

// What does the domain no harm, but should be known.
std::string Remarks(const Observed& observed) {
  std::string remarks;
  if (observed.left_undone) remarks += " Left undone: " + observed.left_undone->message;
  std::vector<std::string> nobodys;
  for (const api::Clique& clique : observed.children.cliques) {
    const bool is_nobodys = clique.id.empty() && IsClique(observed, clique);
    if (is_nobodys) nobodys.push_back(kube::ToString(clique.meta.key));
  }
  if (!nobodys.empty()) {
    remarks += " Ignored, for their names are of no clique: " + Names(nobodys) + ".";
  }
  return remarks;
}

Verdict JudgeProvision(const Observed& observed, const Findings& findings) {
  if (FindObjection(observed)) {
    return {"False", api::kReasonNotAccepted, "Nothing is made before the domain is accepted."};
  }
  if (FindBlindness(observed)) {
    return {"True", api::kReasonChildrenExist,
            observed.facts.imex_on_hosts ? "The claim template was made."
                                         : "DaemonSet and claim templates were made."};
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
  if (!findings.outdated.empty()) {
    const std::string& stopped = observed.facts.roll_stopped;
    const std::string names = Names(findings.outdated);
    if (!stopped.empty()) {
      return {"True", api::kReasonRollStopped,
              "Daemons of an older template go on: " + names +
                  ". None is replaced in any domain: " + stopped +
                  " Mend the image or the settings of the daemons, or that node."};
    }
    if (observed.facts.LackUntil("delete", kube::kPods)) {
      return {"True", api::kReasonOutdated,
              "Daemons of an older template: " + names +
                  ". The controller may not delete pods: delete them once no pod uses their "
                  "clique, or grant it that."};
    }
    return {"True", api::kReasonOutdated,
            "Daemons of an older template: " + names +
                (MayRestartUnderJob(observed)
                     ? ". They are replaced one by one in each clique."
                     : ". They are replaced once no pod uses their clique; annotation " +
                           std::string(api::kDaemonRollAnnotation) +
                           ": Always does not wait, and ends the job.")};
  }
  return {"True", api::kReasonChildrenExist,
          (observed.facts.imex_on_hosts ? "The claim template exists."
                                        : "DaemonSet and claim templates exist.") +
              Remarks(observed)};
}

// Why a member is not ready, or soon will not be.
struct Trouble {
  std::string_view reason = {};  // Empty: none is known.
  std::string detail = {};
};

Trouble TroubleOf(const Observed& observed, const Findings& findings, const Member& member) {
  const auto node = observed.nodes.find(member.node);
  const bool is_known = node != observed.nodes.end();
  if (IsLost(observed, member.node)) return {api::kReasonNodeLost, is_known ? "not ready" : "gone"};
  const auto occupied = findings.occupied.find(member.node);
  if (occupied != findings.occupied.end()) return {api::kReasonNodeHeld, occupied->second};
  if (member.ready) return {};
  if (observed.rebooted.contains(member.node)) return {api::kReasonNodeRebooted, ""};
  if (is_known) {
    if (node->second.unschedulable) return {api::kReasonNodeDrained, "cordoned"};
    const std::string notice = NoticeOf(node->second, observed.facts.leaving_taints);
    if (!notice.empty()) return {api::kReasonNodeTainted, notice};
    const std::vector<std::string>& taints = node->second.taints;
    if (!taints.empty()) return {api::kReasonNodeTainted, "taint " + taints.front()};
  }
  const auto fabric = observed.fabric_errors.find(member.node);
  if (fabric != observed.fabric_errors.end()) return {api::kReasonFabricError, fabric->second};
  const auto pod = findings.pods.find(member.node);
  if (pod == findings.pods.end()) return {{}, member.ip.empty() ? "no daemon yet" : ""};
  if (pod->second->meta.deleting) return {};
  // One that only starts has yet to write its entry.
  if (Serves(*pod->second) && IsSoughtElsewhere(*pod->second, member)) {
    return {api::kReasonImexAddressDiffers, (member.ip.empty() ? "no address" : member.ip) +
                                                ", and its daemon pod has " + pod->second->ip};
  }
  if (const ImexTrouble imex = ImexTroubleOf(*pod->second); !imex.reason.empty()) {
    return {imex.reason, imex.detail};
  }
  return {{}, pod->second->trouble};
}

// What to do about words of a daemon that are known; empty: they are not.
std::string Hint(const std::string& words) {
  if (words.find(api::kImexInUse) == std::string::npos) return "";
  return " IMEX runs on the host of that node already: stop it there for good (systemctl disable "
         "--now nvidia-imex).";
}

// Members that are not ready, the gravest reason, and what to do about it.
Verdict JudgeUnready(const Observed& observed, const Findings& findings,
                     const std::vector<Member>& members) {
  std::vector<Trouble> troubles;
  troubles.reserve(members.size());
  for (const Member& member : members) troubles.push_back(TroubleOf(observed, findings, member));
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
      {api::kReasonNodeHeld, "Held by another domain: ", "Pods there wait until it lets go"},
      {api::kReasonFabricError, "Not ready, and the NVLink fabric has an error: ",
       "See nvidia-smi -q | grep -A4 Fabric on that node, and its fabric manager; a reboot of the "
       "node may be what it takes"},
      {api::kReasonImexOnHost, "IMEX runs on the host already: ",
       "Stop it there for good (systemctl disable --now nvidia-imex)"},
      {api::kReasonImexWaitsForQuorum, "IMEX waits for its peers: ",
       "It begins once those are back that imported from it, and nothing needs to be restarted"},
      {api::kReasonImexAddressDiffers, "Peers look for IMEX at another address: ",
       "The daemon there has not written its address into its clique: see its log, or delete its "
       "pod"},
      {{}, "Not ready: ", "Look at the daemon pod of the node in namespace "}};
  for (const Rank& rank : kRanks) {
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Member& member = members[i];
      const Trouble& trouble = troubles[i];
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

// Daemons that run into something on no node of `members`, such as those that find none.
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
  const std::string names = Names(pods);
  return " Daemons that do not start: " + names + "." + Hint(names);
}

// Which plugins are missing, and what to do about it.
std::string Say(const MissingPlugins& missing) {
  return " No kubelet plugin of " + std::string(api::kDriver) + " is registered on " +
         Names(missing.nodes) +
         ": pods of the domain neither start nor end there. Look whether the plugin's pod runs on "
         "that node." +
         (missing.stuck.empty() ? "" : " Pods that do not end: " + Names(missing.stuck) + ".");
}

// Nodes on which pods hold channels of the domain. Sorted.
std::vector<std::string> NodesThatUse(const Observed& observed) {
  std::set<std::string> nodes;
  for (const api::Claim& claim : observed.children.claims) {
    if (IsInUse(observed, claim) && !claim.node.empty()) nodes.insert(claim.node);
  }
  return {nodes.begin(), nodes.end()};
}

// Where IMEX is somebody else's nobody here knows how it is.
Verdict JudgeHosts(const Observed& observed) {
  const std::vector<std::string> nodes = NodesThatUse(observed);
  return {"Unknown", api::kReasonHostManaged,
          "IMEX runs on the hosts, and the kubelet plugin asks it before a pod starts." +
              (nodes.empty() ? "" : " Pods use it on " + Names(nodes) + ".")};
}

Verdict JudgeMembership(const Observed& observed, const Findings& findings,
                        const Membership& membership, const std::vector<Member>& expected) {
  if (observed.facts.imex_on_hosts) return JudgeHosts(observed);
  if (!membership.refused.empty()) {
    return {"False", api::kReasonCliqueFull,
            "No IMEX index is free for " + Names(membership.refused) + "; a clique holds " +
                std::to_string(observed.facts.daemons.nodes_per_imex_domain_max) +
                " nodes. Run the workload on fewer nodes of it."};
  }
  if (expected.empty()) {
    return {"Unknown", api::kReasonNoMembers,
            "No node takes part." + TroubleBefore(observed, expected)};
  }
  if (Verdict unready = JudgeUnready(observed, findings, expected); !unready.reason.empty()) {
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
  for (const Barrier& barrier : FindBarriers(observed, expected)) {
    all_ready.message += barrier.says;
    if (all_ready.reason == api::kReasonAllMembersReady && !barrier.reason.empty()) {
      all_ready.reason = barrier.reason;
    }
  }
  return all_ready;
}

Verdict JudgeMembers(const Observed& observed, const Findings& findings,
                     const Membership& membership, const std::vector<Member>& expected) {
  Verdict verdict = JudgeMembership(observed, findings, membership, expected);
  if (const std::string leaving = SayWhoLeaves(observed, expected); !leaving.empty()) {
    if (verdict.status == "True") verdict.reason = api::kReasonNodeLeaving;
    verdict.message += leaving;
  }
  if (observed.facts.views.nodes != Sight::kCurrent) {
    if (verdict.status == "True") verdict.reason = api::kReasonNodesNotRead;
    verdict.message += " Nodes are not read, so nobody notices one that is lost: " +
                       observed.facts.views.nodes_problem + ".";
  }
  const MissingPlugins& missing = findings.plugins;
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
  return verdict;
}

// Why pods of the domain wait; the reason is empty: none does.
Verdict JudgeWaiting(const Findings& findings) {
  if (findings.usage.waiting.empty()) return {};
  Verdict verdict = {"False", api::kReasonPodsWaiting,
                     "Waiting for a node: " + Names(findings.usage.waiting) + "."};
  if (findings.shortage) {
    verdict.reason = findings.shortage->reason;
    verdict.message += " " + findings.shortage->message;
  }
  verdict.message += findings.rooms;
  return verdict;
}

Verdict JudgeUse(const Observed& observed, const Findings& findings) {
  if (!observed.facts.views.claims_are_read) {
    const Views& views = observed.facts.views;
    return {"Unknown",
            views.claims_are_granted ? views.problem_reason : std::string(api::kReasonRightMissing),
            "Claims are not read, so nobody knows who uses the domain: " + views.claims_problem};
  }
  const Verdict waiting = JudgeWaiting(findings);
  const std::string says = waiting.reason.empty() ? "" : " " + waiting.message;
  const std::vector<std::string>& users = findings.usage.users;
  if (!users.empty()) {
    // What somebody has to do something about.
    const bool matters =
        waiting.reason == api::kReasonChannelHeld || waiting.reason == api::kReasonNoRoomInClique;
    return {"True", matters ? waiting.reason : std::string(api::kReasonClaimsReserved),
            "Used by " + Names(users) + "." + says};
  }
  return {"False", waiting.reason.empty() ? api::kReasonNoClaims : waiting.reason,
          "No pod holds a channel of the domain." + says};
}

// What CONTRACT calls the global status: what NVIDIA's users and tools read.
bool IsGloballyReady(const Observed& observed, const Membership& membership,
                     const std::vector<Member>& expected) {
  const bool accepted =
      !FindObjection(observed) && !observed.failure && !observed.domain->meta.deleting;
  // A creation that fails in passing is no failure to tell, but nobody can use what is missing.
  const bool is_seen = !FindBlindness(observed);
  if (!accepted || (is_seen && !FindChildren(observed).missing.empty())) return false;
  if (observed.facts.imex_on_hosts) return true;
  const auto members = static_cast<std::int64_t>(membership.members.size());
  return members >= observed.domain->num_nodes && std::ranges::all_of(expected, &Member::ready);
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

// Whether the domain can be used now: the first of those before it that is not true; of a domain
// that nobody uses, that it is provisioned; and else how its members are. While pods wait, why.
Verdict SumUp(const Observed& observed, const Verdict& accepted, const Verdict& provisioned,
              const Verdict& members, const Verdict& waiting) {
  if (accepted.status != "True") return accepted;
  if (provisioned.status != "True") return provisioned;
  if (members.status == "False") return members;
  const bool is_on_hosts = observed.facts.imex_on_hosts;
  if (!waiting.reason.empty()) {
    const bool serves =
        members.status == "True" || (is_on_hosts && !NodesThatUse(observed).empty());
    return {serves ? "True" : "False", waiting.reason, members.message + " " + waiting.message};
  }
  if (members.status == "True") return members;
  if (is_on_hosts) return {"True", members.reason, members.message};
  return {"True", api::kReasonIdle,
          "Provisioned; nodes join when pods that claim from " + observed.domain->template_name +
              " are scheduled."};
}

// `deletion` says why the domain is not Ready however its members are; empty: it is not deleted.
DomainStatus Compose(const Observed& observed, const Findings& findings,
                     const Membership& membership, const std::optional<Verdict>& deletion,
                     const Instant& now) {
  DomainStatus status;
  const std::vector<Member> expected = FindExpected(observed, membership);
  status.status = IsGloballyReady(observed, membership, expected) ? "Ready" : "NotReady";
  if (!observed.facts.imex_on_hosts) status.nodes = membership.members;
  if (observed.facts.status_is_pruned) return status;
  status.observed_generation = observed.domain->meta.generation;
  const Verdict accepted = JudgeAcceptance(observed);
  const Verdict provisioned = JudgeProvision(observed, findings);
  const Verdict members = JudgeMembers(observed, findings, membership, expected);
  AddCondition(observed, api::kConditionAccepted, accepted, now, status);
  AddCondition(observed, api::kConditionProvisioned, deletion.value_or(provisioned), now, status);
  AddCondition(observed, api::kConditionMembersReady, members, now, status);
  AddCondition(
      observed, api::kConditionReady,
      deletion.value_or(SumUp(observed, accepted, provisioned, members, JudgeWaiting(findings))),
      now, status);
  AddCondition(observed, api::kConditionInUse, JudgeUse(observed, findings), now, status);
  // Conditions of others stay.
  for (const kube::Condition& condition : observed.domain->status.conditions) {
    if (status.Find(condition.type) == nullptr) status.conditions.push_back(condition);
  }
  if (observed.facts.imex_on_hosts) return status;
  status.members = ReadyOf(expected);
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

DomainStatus DecideStatus(const Observed& observed, const Findings& findings,
                          const Membership& membership, const Instant& now) {
  return Compose(observed, findings, membership, {}, now);
}

DomainStatus DecideDeletionStatus(const Observed& observed, const Findings& findings,
                                  const Membership& membership, const DeletionWait& wait,
                                  const Instant& now) {
  Verdict verdict = {"False", api::kReasonDeleting, "The domain is being deleted."};
  if (!wait.pinned.empty()) {
    verdict = {"False", api::kReasonHeldByFinalizer,
               "Finalizers of others keep " + Names(wait.pinned) +
                   ". Whoever set one takes it off when its work is done; if that component is "
                   "gone, take it off with kubectl edit." +
                   (wait.blockers.empty() ? "" : " There are still " + Names(wait.blockers) + ".")};
  } else if (!wait.blockers.empty() && wait.patience == std::chrono::milliseconds(0)) {
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
  const MissingPlugins& missing = findings.plugins;
  const bool is_blocked = verdict.reason != api::kReasonDeleting;
  if (is_blocked && !wait.blockers.empty() && !missing.nodes.empty())
    verdict.message += Say(missing);
  DomainStatus status = Compose(observed, findings, membership, verdict, now);
  if (!observed.facts.status_is_pruned) {
    verdict.status = is_blocked ? "True" : "False";
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
  if (observed.memory.status_written) {
    const std::chrono::milliseconds urgent = UrgentWindow(status.nodes.size());
    const std::chrono::milliseconds window = TakesReadinessAway(observed.domain->status, status)
                                                 ? urgent
                                                 : std::max(observed.facts.status_window, urgent);
    const auto rest = *observed.memory.status_written + window - now.monotonic;
    if (rest > std::chrono::nanoseconds(0)) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(rest);
      requeue_after = requeue_after ? std::min(*requeue_after, wait) : wait;
      return {};
    }
  }
  return WriteStatus{.domain = observed.domain->meta, .status = status};
}

}  // namespace compute_domain

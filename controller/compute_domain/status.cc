#include "controller/compute_domain/status.h"

#include <algorithm>
#include <map>

#include "controller/api/names.h"
#include "controller/compute_domain/ownership.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::DomainStatus;
using api::Member;

struct Verdict {
  std::string_view status = {};  // True, False, Unknown.
  std::string_view reason = {};
  std::string message = {};
};

// "a, b, c and 4 more": enough to act on, whatever the size.
std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::vector<std::string> LostNodes(const Observed& observed, const std::vector<Member>& members) {
  std::vector<std::string> lost;
  for (const Member& member : members) {
    const auto node = observed.nodes.find(member.node);
    if (node == observed.nodes.end()) {
      lost.push_back(member.node + " (gone)");
    } else if (!node->second.ready) {
      lost.push_back(member.node + " (not ready)");
    }
  }
  return lost;
}

std::string ReadyOf(const std::vector<Member>& members) {
  const auto ready = std::ranges::count_if(members, &Member::ready);
  return std::to_string(ready) + "/" + std::to_string(members.size());
}

Verdict JudgeReadiness(const Observed& observed, const Membership& membership) {
  const std::vector<Member>& members = membership.members;
  if (!observed.facts.problem_reason.empty()) {
    return {"False", observed.facts.problem_reason, observed.facts.problem};
  }
  if (!observed.domain->has_spec) {
    return {"False", api::kReasonSpecMissing,
            "The domain has no spec.channel, so there is nothing to make. Delete it and create it "
            "again with spec.channel.resourceClaimTemplate.name."};
  }
  if (observed.failure) return {"False", observed.failure->reason, observed.failure->message};
  if (!membership.refused.empty()) {
    return {"False", api::kReasonCliqueFull,
            "No IMEX index is free for " + Names(membership.refused) + "; a clique holds " +
                std::to_string(observed.facts.daemons.nodes_per_imex_domain_max) +
                " nodes. Run the workload on fewer nodes of it."};
  }
  if (members.empty()) {
    return {"Unknown", api::kReasonNoMembers,
            "No node has joined yet. Nodes join when pods that claim a channel from template " +
                observed.domain->template_name + " are scheduled."};
  }
  if (const auto lost = LostNodes(observed, members); !lost.empty()) {
    return {"False", api::kReasonNodeLost,
            "Lost: " + Names(lost) + ". Bring the node back or delete its pods; " +
                ReadyOf(members) + " members are ready."};
  }
  std::vector<std::string> unready;
  for (const Member& member : members) {
    if (!member.ready) unready.push_back(member.node);
  }
  if (!unready.empty()) {
    return {"False", api::kReasonMembersNotReady,
            "Not ready: " + Names(unready) + ". Look at the daemon pod of the node in namespace " +
                observed.facts.driver_namespaces.front() + "."};
  }
  if (static_cast<std::int64_t>(members.size()) < observed.domain->num_nodes) {
    return {"False", api::kReasonWaitingForMembers,
            std::to_string(members.size()) + " of spec.numNodes " +
                std::to_string(observed.domain->num_nodes) + " nodes have joined."};
  }
  return {"True", api::kReasonAllMembersReady, "All " + ReadyOf(members) + " members are ready."};
}

Verdict JudgeUse(const Observed& observed) {
  std::vector<std::string> users;
  for (const api::Claim& claim : observed.children.claims) {
    if (IsInUse(observed, claim)) users.push_back(claim.consumer);
  }
  std::ranges::sort(users);
  if (users.empty())
    return {"False", api::kReasonNoClaims, "No pod holds a channel of the domain."};
  return {"True", api::kReasonClaimsReserved, "Used by " + Names(users) + "."};
}

// What CONTRACT calls the global status: what NVIDIA's users and tools read.
bool IsGloballyReady(const Observed& observed, const std::vector<Member>& members) {
  const bool accepted = observed.facts.problem_reason.empty() && observed.domain->has_spec &&
                        !observed.failure && !observed.domain->meta.deleting;
  return accepted && static_cast<std::int64_t>(members.size()) >= observed.domain->num_nodes &&
         std::ranges::all_of(members, &Member::ready);
}

void AddCondition(const Observed& observed, std::string_view type, const Verdict& verdict,
                  const Instant& now, DomainStatus& status) {
  kube::Condition condition = {.type = std::string(type),
                               .status = std::string(verdict.status),
                               .reason = std::string(verdict.reason),
                               .message = verdict.message,
                               .observed_generation = observed.domain->meta.generation,
                               .last_transition_time = base::FormatSeconds(now.wall)};
  const kube::Condition* before = observed.domain->status.Find(type);
  if (before != nullptr && before->status == condition.status) {
    condition.last_transition_time = before->last_transition_time;
  }
  status.conditions.push_back(std::move(condition));
}

DomainStatus Compose(const Observed& observed, const Membership& membership,
                     const Verdict& readiness, const Instant& now) {
  DomainStatus status;
  status.status = IsGloballyReady(observed, membership.members) ? "Ready" : "NotReady";
  status.nodes = membership.members;
  if (observed.facts.status_is_pruned) return status;
  status.observed_generation = observed.domain->meta.generation;
  AddCondition(observed, api::kConditionReady, readiness, now, status);
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
  return std::ranges::any_of(before.nodes, [&](const Member& member) {
    if (!member.ready) return false;
    const auto it = std::ranges::find(after.nodes, member.node, &Member::node);
    return it == after.nodes.end() || !it->ready;
  });
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
  return Compose(observed, membership, JudgeReadiness(observed, membership), now);
}

DomainStatus DecideDeletionStatus(const Observed& observed, const Membership& membership,
                                  const DeletionWait& wait, const Instant& now) {
  Verdict verdict = {"False", api::kReasonDeleting, "The domain is being deleted."};
  if (!wait.blockers.empty()) {
    verdict = {"False", api::kReasonDeletionBlocked,
               "Deletion waits for " + Names(wait.blockers) + ". Delete them, or wait until " +
                   std::to_string(wait.at_most.count()) + " s after the deletion was asked for."};
  } else if (observed.failure) {
    verdict = {"False", api::kReasonDeletionBlocked, observed.failure->message};
  }
  DomainStatus status = Compose(observed, membership, verdict, now);
  if (!observed.facts.status_is_pruned) {
    const bool blocked = verdict.reason == api::kReasonDeletionBlocked;
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

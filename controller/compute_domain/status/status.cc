#include "controller/compute_domain/status/status.h"

#include <algorithm>
#include <map>

#include "controller/api/names.h"
#include "controller/compute_domain/model/write_pace.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::DomainStatus;

// Returns whether `status.status` is Ready, which NVIDIA's users and tools read.
bool IsGloballyReady(const StatusInput& input) {
  const Observed& observed = input.observed;
  const Analysis& analysis = input.analysis;
  const bool accepted = !analysis.objection && !analysis.failure && !observed.domain->meta.deleting;
  const bool is_seen = !analysis.unreadable && analysis.children_are_seen;
  if (!accepted || (is_seen && !analysis.children.missing.empty())) return false;
  if (observed.facts.settings->imex_on_hosts) return true;
  const auto members = static_cast<std::int64_t>(input.membership.members.size());
  return members >= observed.domain->num_nodes &&
         std::ranges::all_of(analysis.expected, &api::Member::ready);
}

void AddCondition(const StatusInput& input, std::string_view type, const Verdict& verdict,
                  DomainStatus& status) {
  const api::ComputeDomain& domain = *input.observed.domain;
  kube::Condition condition = {.type = std::string(type),
                               .status = std::string(verdict.status),
                               .reason = verdict.reason,
                               .message = verdict.message,
                               .observed_generation = domain.meta.generation,
                               .last_transition_time = base::FormatSeconds(input.now.wall)};
  const kube::Condition* before = domain.status.Find(type);
  if (before != nullptr && before->status == condition.status) {
    condition.last_transition_time = before->last_transition_time;
  }
  status.conditions.push_back(std::move(condition));
}

std::vector<SharingIssue> IssuesOf(const StatusInput& input) {
  if (!std::ranges::all_of(input.analysis.expected, &api::Member::ready)) return {};
  return FindSharingIssues(input.observed, input.analysis);
}

void AddConditions(const StatusInput& input, const std::optional<DeletionWait>& wait,
                   DomainStatus& status) {
  const std::vector<SharingIssue> issues = IssuesOf(input);
  const Verdict accepted = JudgeAccepted(input);
  const Verdict members = JudgeMembersReady(input, issues);
  const Verdict use = JudgeInUse(input);
  Verdict provisioned, ready, deletion;
  if (wait) {
    deletion = JudgeDeletion(input, *wait);
    provisioned = ready = deletion;
  } else {
    provisioned = JudgeProvisioned(input);
    ready = JudgeReady(input, accepted, provisioned, members);
  }
  AddCondition(input, api::kConditionAccepted, accepted, status);
  AddCondition(input, api::kConditionProvisioned, provisioned, status);
  AddCondition(input, api::kConditionMembersReady, members, status);
  AddCondition(input, api::kConditionReady, ready, status);
  const Verdict shared = JudgeMemoryShared(input, members, use, issues);
  AddCondition(input, api::kConditionMemoryShared, shared, status);
  AddCondition(input, api::kConditionInUse, use, status);
  const Verdict conflicted = JudgeConflicted(input);
  if (!conflicted.reason.empty()) {
    AddCondition(input, api::kConditionConflicted, conflicted, status);
  }
  // Conditions of other components stay.
  for (const kube::Condition& condition : input.observed.domain->status.conditions) {
    const bool is_over = condition.type == api::kConditionConflicted;
    const bool is_replaced = wait && condition.type == api::kConditionDeletionBlocked;
    if (!is_over && !is_replaced && status.Find(condition.type) == nullptr) {
      status.conditions.push_back(condition);
    }
  }
  if (!wait) return;
  deletion.status = deletion.reason == api::kReasonDeleting ? "False" : "True";
  AddCondition(input, api::kConditionDeletionBlocked, deletion, status);
}

// Such a change is written after a short window, because readers trust Ready.
bool TakesReadinessAway(const DomainStatus& before, const DomainStatus& after) {
  if (before.status == "Ready" && after.status != "Ready") return true;
  return LosesReadiness(before.nodes, after.nodes);
}

// Returns whether a write would change nothing that the installed CRD keeps.
bool IsSame(const Observed& observed, const DomainStatus& status) {
  const DomainStatus& before = observed.domain->status;
  if (!observed.facts.cluster.status_is_pruned) return before == status;
  return before.status == status.status && before.nodes == status.nodes;
}

}  // namespace

std::vector<api::CliqueSummary> SummarizeCliques(const std::vector<api::Member>& members) {
  std::map<std::string, api::CliqueSummary> cliques;
  for (const api::Member& member : members) {
    api::CliqueSummary& clique = cliques[member.clique];
    clique.id = member.clique;
    clique.members += 1;
    clique.ready += member.ready ? 1 : 0;
  }
  std::vector<api::CliqueSummary> summaries;
  summaries.reserve(cliques.size());
  for (auto& [id, clique] : cliques) summaries.push_back(std::move(clique));
  return summaries;
}

DomainStatus DecideStatus(const StatusInput& input, const std::optional<DeletionWait>& wait) {
  const Facts& facts = input.observed.facts;
  DomainStatus status;
  status.status = IsGloballyReady(input) ? "Ready" : "NotReady";
  if (!facts.settings->imex_on_hosts) status.nodes = input.membership.members;
  if (facts.cluster.status_is_pruned) return status;
  status.observed_generation = input.observed.domain->meta.generation;
  AddConditions(input, wait, status);
  if (facts.settings->imex_on_hosts) return status;
  status.members = ReadyOf(input.analysis.expected);
  status.cliques = SummarizeCliques(input.membership.members);
  return status;
}

Verdict DecideMemoryShared(const StatusInput& input) {
  const std::vector<SharingIssue> issues = IssuesOf(input);
  return JudgeMemoryShared(input, JudgeMembersReady(input, issues), JudgeInUse(input), issues);
}

std::optional<WriteStatus> DecideStatusWrite(const Observed& observed, const DomainStatus& status,
                                             const Instant& now, RequeueAfter& requeue_after) {
  if (IsSame(observed, status)) return {};
  if (observed.memory.status_written) {
    const std::chrono::milliseconds urgent = UrgentWindow(status.nodes.size());
    const std::chrono::milliseconds window =
        TakesReadinessAway(observed.domain->status, status)
            ? urgent
            : std::max(observed.facts.settings->status_window, urgent);
    const auto rest = *observed.memory.status_written + window - now.monotonic;
    if (rest > std::chrono::nanoseconds(0)) {
      requeue_after.AtMost(std::chrono::ceil<std::chrono::milliseconds>(rest));
      return {};
    }
  }
  return WriteStatus{.object = observed.domain->meta, .status = status};
}

}  // namespace compute_domain

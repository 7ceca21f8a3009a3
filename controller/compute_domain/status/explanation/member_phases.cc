#include "controller/compute_domain/status/explanation/member_phases.h"

#include <algorithm>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using Is = MemberPhase::Is;

// A daemon serves within 5 s of its pod, and a claim is released within 3 s of its pod's end.
constexpr std::chrono::seconds kPassesWithin{30};
// Watches of different kinds are not ordered among each other.
constexpr std::chrono::seconds kExplainedWithin{2};

// What is known about the nodes of one domain.
struct Attendance {
  std::set<std::string> labelled = {};
  std::set<std::string> in_use = {};       // Pods hold a channel there.
  std::set<std::string> shown_ready = {};  // Members that status shows as ready.
  std::set<std::string> serving = {};      // Of these, the daemon still serves.
  std::set<std::string> running = {};      // The daemon is not being deleted, or is replaced by us.
  bool claims_count = true;                // Claims are read, and watched at this moment.
};

Attendance Attend(const Observed& observed) {
  const Views& views = observed.facts.views;
  Attendance attendance;
  attendance.claims_count =
      views.claims_are_read && views.claims_are_current && views.IsFresh(Kind::kClaim);
  for (const api::Node& node : observed.children.labelled_nodes) {
    attendance.labelled.insert(node.meta.key.name);
  }
  attendance.in_use = NodesOf(observed, observed.children.claims, IsInUse);
  for (const api::Member& member : observed.domain->status.nodes) {
    if (member.ready) attendance.shown_ready.insert(member.node);
  }
  for (const auto& [clique, replacement] : observed.memory.replacements) {
    attendance.running.insert(replacement.node);
  }
  for (const auto& [node, pod] : PodsThatCount(observed)) {
    if (!pod->meta.deleting) attendance.running.insert(node);
    // A ready pod does not serve until its clique entry is ready, too.
    if (Serves(*pod) && attendance.shown_ready.contains(node)) attendance.serving.insert(node);
  }
  return attendance;
}

// Returns whether a daemon is needed: a pod is there, and the label that places the daemon.
bool IsNeeded(const Attendance& seen, const std::string& node) {
  return seen.labelled.contains(node) && (!seen.claims_count || seen.in_use.contains(node));
}

Is NextPhase(Is before, bool is_needed, bool serves) {
  if (before == Is::kStarting) return serves ? Is::kServing : Is::kStarting;
  if (!is_needed) return Is::kLeaving;
  // The pod of the next job, for which the label was restored, waits for a new daemon.
  return before == Is::kLeaving && !serves ? Is::kStarting : Is::kServing;
}

}  // namespace

std::map<std::string, MemberPhase> FindPhases(const Observed& observed, const Instant& now) {
  const std::map<std::string, MemberPhase>& before = observed.memory.phases;
  if (!observed.domain || observed.facts.settings->imex_on_hosts) return {};
  if (!observed.facts.views.IsFresh(Kind::kNode)) return before;
  const Attendance seen = Attend(observed);
  std::set<std::string> nodes = seen.labelled;
  nodes.insert(seen.in_use.begin(), seen.in_use.end());
  for (const api::Member& member : observed.domain->status.nodes) nodes.insert(member.node);
  // A process that has just started adopts what status says.
  const api::DomainStatus& status = observed.domain->status;
  const bool is_first_look = observed.memory.IsFirstLook();
  const bool was_told =
      is_first_look && status.Says(api::kConditionMembersReady, api::kReasonMembersNotReady);
  // If one of them were starting, status would say so.
  const bool none_started =
      is_first_look && status.Says(api::kConditionMembersReady, api::kReasonMembersLeaving);
  std::map<std::string, MemberPhase> phases;
  for (const std::string& node : nodes) {
    MemberPhase phase;
    if (!was_told) phase.since = now.monotonic;
    if (const MemberPhase* const known = base::Find(before, node)) {
      phase = *known;
    } else if (is_first_look && seen.shown_ready.contains(node)) {
      phase.is = Is::kServing;
    } else if (none_started && base::Contains(status.nodes, node, &api::Member::node)) {
      phase.is = Is::kServing;
      phase.ends_since = now.monotonic;
    }
    const Is next = NextPhase(phase.is, IsNeeded(seen, node), seen.serving.contains(node));
    if (next != phase.is) {
      phase = {.is = next, .since = now.monotonic};
    }
    if (phase.is != Is::kServing || seen.running.contains(node)) {
      phase.ends_since.reset();
    } else if (!phase.ends_since && seen.shown_ready.contains(node)) {
      phase.ends_since = now.monotonic;
    }
    phases.emplace(node, phase);
  }
  return phases;
}

std::optional<MemberPhase::Is> FindPassingPhase(const Observed& observed, const std::string& node,
                                                const Instant& now) {
  // Of a node that is not known, no phase passes.
  const MemberPhase phase = base::FindOr(observed.memory.phases, node, {});
  if (phase.is != Is::kServing) {
    const bool passes = phase.since && now.monotonic - *phase.since < kPassesWithin;
    return passes ? std::optional(phase.is) : std::nullopt;
  }
  const bool ends = phase.ends_since && now.monotonic - *phase.ends_since < kExplainedWithin;
  return ends ? std::optional(Is::kLeaving) : std::nullopt;
}

RequeueAfter UntilPhasesEnd(const Observed& observed, const Instant& now) {
  RequeueAfter requeue_after;
  for (const auto& [node, phase] : observed.memory.phases) {
    const bool serves = phase.is == Is::kServing;
    const auto& since = serves ? phase.ends_since : phase.since;
    if (!since) continue;
    const auto limit = serves ? kExplainedWithin : kPassesWithin;
    requeue_after.RequeueUnlessDue(*since + limit - now.monotonic);
  }
  return requeue_after;
}

}  // namespace compute_domain

#include "controller/compute_domain/status/explanation/member_phases.h"

#include <algorithm>
#include <set>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"

namespace compute_domain {

namespace {

using Is = MemberPhase::Is;

// A daemon serves within 5 s of its pod, and a claim is released within 3 s of its pod's end.
constexpr std::chrono::seconds kPassesWithin{30};

// What is known about the nodes of one domain.
struct Attendance {
  std::set<std::string> labelled = {};
  std::set<std::string> in_use = {};       // Pods hold a channel there.
  std::set<std::string> shown_ready = {};  // Members that status shows as ready.
  std::set<std::string> serving = {};      // Of these, the daemon still serves.
  bool claims_count = true;                // Claims are read, and watched at this moment.
};

Attendance Attend(const Observed& observed) {
  const Views& views = observed.facts.views;
  Attendance attendance;
  attendance.claims_count =
      views.claims_are_read && views.claims_are_current && views.claims == Freshness::kFresh;
  for (const api::Node& node : observed.children.labelled_nodes) {
    attendance.labelled.insert(node.meta.key.name);
  }
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (IsInUse(observed, claim) && !claim.node.empty()) attendance.in_use.insert(claim.node);
  }
  for (const api::Member& member : observed.domain->status.nodes) {
    if (member.ready) attendance.shown_ready.insert(member.node);
  }
  // A ready pod does not serve until its clique entry is ready, too.
  for (const auto& [node, pod] : PodsThatCount(observed)) {
    if (Serves(*pod) && attendance.shown_ready.contains(node)) attendance.serving.insert(node);
  }
  return attendance;
}

// Returns whether status already says that a member is not ready for too long.
bool WasTold(const Observed& observed) {
  const kube::Condition* members = observed.domain->status.Find(api::kConditionMembersReady);
  return members != nullptr && members->reason == api::kReasonMembersNotReady;
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

std::map<std::string, MemberPhase> FindPhases(const Observed& observed,
                                              const std::map<std::string, MemberPhase>& before,
                                              const Instant& now) {
  if (!observed.domain || observed.facts.imex_on_hosts) return {};
  if (observed.facts.views.nodes != Freshness::kFresh) return before;
  const Attendance seen = Attend(observed);
  std::set<std::string> nodes = seen.labelled;
  nodes.insert(seen.in_use.begin(), seen.in_use.end());
  for (const api::Member& member : observed.domain->status.nodes) nodes.insert(member.node);
  // A process that has just started adopts what status says.
  const bool is_first_look = observed.memory.rendered.daemon_set.empty();
  const bool was_told = is_first_look && WasTold(observed);
  std::map<std::string, MemberPhase> phases;
  for (const std::string& node : nodes) {
    MemberPhase phase = {.since_wall = now.wall};
    if (!was_told) phase.since = now.monotonic;
    const auto known = before.find(node);
    if (known != before.end()) {
      phase = known->second;
    } else if (is_first_look && seen.shown_ready.contains(node)) {
      phase.is = Is::kServing;
    }
    const Is next = NextPhase(phase.is, IsNeeded(seen, node), seen.serving.contains(node));
    if (next != phase.is) {
      phase = {.is = next, .since = now.monotonic, .since_wall = now.wall};
    }
    phases.emplace(node, phase);
  }
  return phases;
}

const MemberPhase* FindPassingPhase(const Observed& observed, const std::string& node,
                                    const Instant& now) {
  const auto found = observed.memory.phases.find(node);
  if (found == observed.memory.phases.end()) return nullptr;
  const MemberPhase& phase = found->second;
  const bool passes =
      phase.is != Is::kServing && phase.since && now.monotonic - *phase.since < kPassesWithin;
  return passes ? &phase : nullptr;
}

RequeueAfter UntilPhasesEnd(const Observed& observed, const Instant& now) {
  RequeueAfter requeue_after;
  for (const auto& [node, phase] : observed.memory.phases) {
    if (phase.is == Is::kServing || !phase.since) continue;
    static_cast<void>(requeue_after.IsDue(*phase.since + kPassesWithin - now.monotonic));
  }
  return requeue_after;
}

}  // namespace compute_domain

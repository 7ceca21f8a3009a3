// The replacement of daemon pods that were made from another template than their DaemonSet has now.
// Pure.
//
// A daemon that restarts ends the job that its peers run. So daemons are replaced where no claim of
// the domain is on a node of their clique, unless the domain, or the configuration, allows it under
// a job: annotation cdom.dev/daemon-roll. Even then at most one node of a clique is without its
// daemon at a time, none is taken from a clique that has lost a member, and of the whole cluster
// few cliques are under way at once. The next one goes when the last has settled: its pod serves,
// clique and status say so, and some time has passed. A replacement that does not serve in time
// stops it all. Pods of a DaemonSet that was made by somebody else are never replaced.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/rules/membership/membership_plan.h"

namespace compute_domain {

// The replacement of daemon pods.
struct Rollout {
  std::vector<Action> actions = {};
  bool needs_daemons = false;   // A pod seems to be due: read before it is deleted.
  bool waits_for_room = false;  // A pod seems to be due, and too many cliques are under way.
  // A daemon of the new template that should serve by now; empty: none.
  std::string failed = {};
  RequeueAfter requeue_after = {};  // Then one settles, or fails.
};

[[nodiscard]] Rollout PlanRollout(const Observed& observed, const Membership& membership,
                                  const Instant& now);

// Daemon pods that are due, as far as the cache shows.
[[nodiscard]] std::vector<std::string> FindOutdated(const Observed& observed);

// How the replacements of `observed.memory` fare; who has settled, or belongs to the domain no
// more, is left out.
[[nodiscard]] std::map<std::string, Replacement> FindReplacements(const Observed& observed,
                                                                  base::Clock::TimePoint now);

// Whether daemons of the domain may restart although a job of it runs. REQUIRES: observed.domain.
[[nodiscard]] bool MayRestartUnderJob(const Observed& observed);

// Whether the DaemonSet with this UID made the pod.
[[nodiscard]] bool IsMadeBy(const api::DaemonPod& pod, const kube::Uid& set);

// Whether a channel of the domain is allocated among `claims`: its job needs its daemons. Where
// claims are not read one may be.
// REQUIRES: observed.domain.
[[nodiscard]] bool IsClaimed(const Observed& observed,
                             const std::vector<api::ResourceClaim>& claims);

}  // namespace compute_domain

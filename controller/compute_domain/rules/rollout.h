// Rule that replaces daemon pods of an outdated template. Pure.
//
// A restart of a daemon ends the job of its peers. So a daemon is replaced only if no claim of the
// domain is allocated in its clique. Exception: the annotation cdom.dev/daemon-roll, or the
// setting, allows it during a job.
//
// In each clique, at most one node is without its daemon, and no daemon is replaced if the clique
// has lost a member. In the cluster, few cliques are in a rollout at a time. The next daemon is
// replaced after the last replacement has settled: its pod serves, clique and status show that, and
// some time has passed. A replacement that does not serve in time stops the rollout in all domains.
// Pods of a DaemonSet that cdom did not make are never replaced.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/rules/membership/membership.h"

namespace compute_domain {

struct Rollout {
  std::vector<Action> actions = {};
  bool needs_daemons = false;   // A pod seems outdated: read it before it is deleted.
  bool waits_for_room = false;  // A pod seems outdated, but too many cliques are in a rollout.
  // A daemon of the new template that should serve by now. Empty if there is none.
  std::string failed = {};
  RequeueAfter requeue_after = {};  // Until a replacement settles or fails.
};

Rollout PlanRollout(const Observed& observed, const Membership& membership, const Instant& now);

// Returns the outdated daemon pods in the cache, by name.
std::vector<std::string> FindOutdated(const Observed& observed);

// Returns the replacements of `observed.memory` that are in progress. Leaves out those that have
// settled, and those whose node no longer belongs to the domain.
std::map<std::string, Replacement> FindReplacements(const Observed& observed,
                                                    base::Clock::TimePoint now);

// Returns whether daemons of the domain may restart while a job runs. REQUIRES: observed.domain.
bool MayRestartUnderJob(const Observed& observed);

// Returns whether the DaemonSet with this UID made the pod.
bool IsMadeBy(const api::DaemonPod& pod, const kube::Uid& set);

// Returns whether one of `claims` has a channel of the domain allocated, so that a job may need its
// daemons. True if claims cannot be read. REQUIRES: observed.domain.
bool IsClaimed(const Observed& observed, const std::vector<api::ResourceClaim>& claims);

}  // namespace compute_domain

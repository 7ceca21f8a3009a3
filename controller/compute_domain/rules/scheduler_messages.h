// Scheduler messages about pods that wait for a node. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// The read of messages that is due, and the time of the next. Conditions explain with them why pods
// are pending.
struct SchedulerMessages {
  std::optional<ReadPodConditions> read = {};
  RequeueAfter requeue_after = {};
};

// REQUIRES: observed.domain, here and below.

// Returns all pending pods by scheduler message. The key is empty if no message was read. A pod
// that a live read showed to run does not wait, whatever its cached claim says.
std::map<std::string, std::vector<std::string>> FindWaiting(const Observed& observed);

// Returns the pods for which, according to the scheduler, no node has a channel.
std::vector<kube::OwnerReference> FindPodsWithoutChannel(const Observed& observed);

// Returns the read of at most five pods, once a pod has been pending for 5 s. Repeats after 10 s,
// then after up to 5 minutes.
SchedulerMessages PlanSchedulerMessages(const Observed& observed, const Instant& now);

}  // namespace compute_domain

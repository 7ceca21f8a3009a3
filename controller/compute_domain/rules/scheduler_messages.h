// Pods that wait for a node, and what the scheduler says of them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/requeue_after.h"

namespace compute_domain {

// What is read so that a condition can say why pods wait.
struct SchedulerMessages {
  std::optional<ReadPodConditions> read = {};
  RequeueAfter requeue_after = {};
};

// REQUIRES: observed.domain, here and below.

// All pods that wait so, by the words that were said of them; empty: none were read.
[[nodiscard]] std::map<std::string, std::vector<std::string>> FindWaiting(const Observed& observed);

// Pods to which the scheduler says that no node has a channel for them.
[[nodiscard]] std::vector<kube::OwnerReference> FindPodsWithoutChannel(const Observed& observed);

// The reads of pods that have waited for a while, and when to look again: soon at first, then ever
// later.
[[nodiscard]] SchedulerMessages PlanSchedulerMessages(const Observed& observed, const Instant& now);

}  // namespace compute_domain

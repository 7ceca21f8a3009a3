#include "controller/compute_domain/rules/scheduler_messages.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/next_look.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;

// A pod that has waited less long needs no explanation.
constexpr std::chrono::seconds kPatience{5};
// Limits the pods that are read. Conditions name no more, and most of them have the same cause.
constexpr std::size_t kPodsMax = 5;

bool IsWaiting(const Observed& observed, const api::ResourceClaim& claim) {
  return IsChannelClaim(observed, claim) && claim.node.empty() && !claim.meta.deleting &&
         PodOf(claim) != nullptr;
}

}  // namespace

std::map<std::string, std::vector<std::string>> FindWaiting(const Observed& observed) {
  std::map<std::string, std::vector<std::string>> waiting;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    const std::string& pod = PodOf(claim)->name;
    if (observed.memory.started_pods.contains(pod)) continue;
    waiting[base::FindOr(observed.memory.scheduler_messages, pod, "")].push_back(pod);
  }
  for (auto& [messages, pods] : waiting) std::ranges::sort(pods);
  return waiting;
}

std::vector<kube::OwnerReference> FindPodsWithoutChannel(const Observed& observed) {
  std::vector<kube::OwnerReference> pods;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    const std::string& pod = PodOf(claim)->name;
    const std::string said = base::FindOr(observed.memory.scheduler_messages, pod, "");
    const bool is_said = said.find(api::kSchedulerLacksDevice) != std::string::npos;
    // What is kept of a message may be cut.
    if (is_said || observed.memory.reach.contains(pod)) pods.push_back(*PodOf(claim));
  }
  return pods;
}

SchedulerMessages PlanSchedulerMessages(const Observed& observed, const Instant& now) {
  SchedulerMessages messages;
  std::vector<std::string> pods;
  std::optional<base::Clock::WallTime> first;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    pods.push_back(PodOf(claim)->name);
    const auto created = base::ParseTime(claim.meta.creation_timestamp);
    if (created && (!first || *created < *first)) first = created;
  }
  if (!first) return messages;
  const auto waited = std::chrono::floor<milliseconds>(now.wall - *first);
  milliseconds rest = kPatience - waited;
  const std::optional<base::Clock::TimePoint> read = observed.evidence.scheduler_messages
                                                         ? now.monotonic
                                                         : observed.memory.scheduler_messages_read;
  if (read) rest = UntilNextLook(waited, *read, now.monotonic);
  if (rest > milliseconds(0)) {
    messages.requeue_after = rest;
    return messages;
  }
  std::ranges::sort(pods);
  pods.resize(std::min(pods.size(), kPodsMax));
  messages.read = ReadPodConditions{.ns = observed.domain->meta.key.ns, .names = std::move(pods)};
  return messages;
}

}  // namespace compute_domain

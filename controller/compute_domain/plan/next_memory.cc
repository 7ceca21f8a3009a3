#include "controller/compute_domain/plan/next_memory.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/deletion.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/node_names.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/explanation/imex_health.h"
#include "controller/compute_domain/status/explanation/member_phases.h"
#include "controller/compute_domain/status/explanation/missing_plugins.h"
#include "controller/compute_domain/status/explanation/unlisted_claims.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using TimePoint = base::Clock::TimePoint;

// Kubernetes also waits this long before it evicts pods from a node that is not ready.
constexpr std::chrono::minutes kLostForLong{5};

using Since = std::map<std::string, TimePoint>;

// Returns since when each of `nodes` has been in a state. They are in it now.
Since StillSo(const std::vector<std::string>& nodes, const Since& before, TimePoint now) {
  Since since;
  for (const std::string& node : nodes) since.emplace(node, base::FindOr(before, node, now));
  return since;
}

Since FindLeaving(const Observed& observed, TimePoint now) {
  std::vector<std::string> leaving;
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    if (pod.meta.deleting && !pod.terminal) leaving.push_back(pod.meta.uid);
  }
  return StillSo(leaving, observed.memory.leaving_since, now);
}

std::map<kube::Uid, std::optional<TimePoint>> FindUnready(const Observed& observed, TimePoint now) {
  const auto since = observed.memory.IsFirstLook() ? std::nullopt : std::optional(now);
  std::map<kube::Uid, std::optional<TimePoint>> unready;
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    if (pod.terminal || pod.meta.deleting || Serves(pod)) continue;
    unready.emplace(pod.meta.uid, base::FindOr(observed.memory.unready_since, pod.meta.uid, since));
  }
  return unready;
}

// Returns the rebooted nodes whose daemons write their own entries: no clique names these. A
// process that did not see the reboot knows it from the reason that status has.
std::set<std::string> FindRebootedBefore(const Observed& observed) {
  const api::DomainStatus& status = observed.domain->status;
  const bool is_said = observed.memory.IsFirstLook() &&
                       status.Says(api::kConditionMembersReady, api::kReasonNodeRebooted);
  const PodByNode pods = PodsThatCount(observed);
  std::set<std::string> rebooted;
  for (const api::Member& member : status.nodes) {
    const bool was = is_said || observed.memory.rebooted_before.contains(member.node);
    const api::DaemonPod* const pod = base::FindOr(pods, member.node, nullptr);
    if (!was || member.ready || pod == nullptr || pod->controller_writes) continue;
    if (!pod->ready && pod->trouble.empty()) rebooted.insert(member.node);
  }
  return rebooted;
}

// A conflict ends as soon as the cache is newer.
constexpr base::BackoffPolicy kConflict = {.first = std::chrono::milliseconds(5),
                                           .most = std::chrono::seconds(1)};
constexpr base::BackoffPolicy kFailure = {.first = std::chrono::milliseconds(5),
                                          .most = std::chrono::seconds(30)};
constexpr double kSpreadMost = 0.2;  // Part of the delay.
// Content that is written in turn with other content is written at most so often in a minute.
constexpr int kTimesMax = 10;
constexpr std::chrono::minutes kMinute{1};
// An action with this delay was undone eight times in a row.
constexpr std::chrono::seconds kUndoneFrom{1};
constexpr std::chrono::seconds kLasting{10};  // It has failed for twice as long.

template <typename T>
std::shared_ptr<const T> Apart(const std::optional<T>& value) {
  return value ? std::make_shared<const T>(*value) : nullptr;
}

struct Apply {
  Memory& memory;
  const TimePoint now;

  void operator()(const StatusWritten& /*change*/) const { memory.status_written = now; }
  void operator()(const ChildMade& child) const { memory.children_seen.insert(child.role); }
  void operator()(const CliqueWritten& write) const {
    CliqueBatching& batching = memory.clique_batching[write.clique];
    batching = NextBatching(batching, now, write.first_window);
  }
  void operator()(const ReplacementBegan& begun) const {
    memory.replacements[begun.clique] = {
        .node = begun.node, .replaced = begun.replaced, .began = now};
  }
  void operator()(const ReplacementFailed& failed) const {
    memory.replacements.erase(failed.clique);
  }
  void operator()(const LabelRemoved& removed) const { memory.labels_removed.insert(removed.node); }
  void operator()(const LabelRestored& restored) const {
    memory.labels_removed.erase(restored.node);
  }
  void operator()(const DeletionProven& /*change*/) const { memory.deletion_is_proven = true; }
  void operator()(const ClaimsRead& read) const {
    memory.claims_read = now;
    std::erase_if(memory.labels_removed,
                  [&](const std::string& node) { return !read.nodes_in_use.contains(node); });
  }
  void operator()(const SchedulerMessagesRead& read) const {
    memory.scheduler_messages = read.messages;
    memory.started_pods = read.started_pods;
    memory.reach = read.reach;
    memory.scheduler_messages_read = now;
  }
  void operator()(const UsesRead& read) const {
    memory.lists_claim.insert(read.lists_claim.begin(), read.lists_claim.end());
  }
  void operator()(const CreationTroubleRead& read) const {
    if (read.trouble) memory.creation_trouble = *read.trouble;
    memory.creation_trouble_read = now;
  }
  void operator()(const EventsSent& sent) const { memory.event_reasons = sent.reasons; }
  void operator()(const MemorySharedFound& found) const {
    memory.memory_shared = found.status;
    memory.memory_shared_reason = found.reason;
  }
  void operator()(const ActionWaits& waits) const {
    Retry& retry = memory.retries[waits.action];
    retry.is_wanted = true;
    retry.until = retry.is_conflict ? waits.until : std::max(retry.until, waits.until);
  }
  void operator()(const ActionFailed& failed) const {
    Retry& retry = memory.retries[failed.action];
    retry.is_wanted = true;
    retry.is_first = !retry.HasFailed();
    // Nobody has changed the object, so a newer cache will not help, or it did not help before.
    const auto delay = retry.backoff.delay();
    const bool is_refused =
        retry.is_conflict &&
        (delay > kConflict.most || (delay == kConflict.most && failed.version == retry.version));
    const bool passes = failed.is_conflict && !is_refused;
    const auto least = std::max(retry.backoff.Next(passes ? kConflict : kFailure), failed.at_least);
    const auto soon = std::min<std::chrono::nanoseconds>(least, kConflict.most);
    retry.is_conflict = failed.is_conflict;
    retry.version = failed.version;
    retry.concern = failed.concern;
    retry.until = now + base::Jittered(least, kSpreadMost, failed.spread);
    retry.until_newer = now + base::Jittered(soon, kSpreadMost, failed.spread);
    retry.failure = Apart(failed.failure);
    // Other objects wait for what a read shows, and nothing else would say why.
    const bool is_silent = failed.concern == Concern::kReads || is_refused;
    if (!retry.failure && is_silent && least >= kLasting) {
      retry.failure =
          Apart(std::optional(MakeFailure(api::kReasonProvisioningFailed, failed.passing)));
    }
    retry.taken = Apart(failed.taken);
  }
  void operator()(const ActionDone& done) const {
    if (!done.content) {
      memory.retries.erase(done.action);
      return;
    }
    Retry& retry = memory.retries[done.action];
    std::vector<Written> written = std::move(retry.written);
    const bool is_again = !written.empty() && written.back().content == *done.content;
    const auto before = std::ranges::find(written, *done.content, &Written::content);
    Written now_written = {.content = *done.content, .since = now};
    if (before != written.end()) {
      if (now - before->since < kMinute) now_written = *before;
      written.erase(before);
    }
    base::Backoff pace = is_again ? retry.pace : base::Backoff();
    const auto least = pace.Next(kFailure);
    now_written.until = now + base::Jittered(least, kSpreadMost, done.spread);
    // Of two clients with different opinions each may write two contents in turn.
    if (++now_written.times >= kTimesMax && !is_again) {
      now_written.until = std::max(now_written.until, now_written.since + kMinute);
    }
    written.push_back(now_written);
    if (written.size() > kWrittenMax) written.erase(written.begin());
    retry = {.concern = done.concern,
             .pace = pace,
             .written = std::move(written),
             .undone = is_again && pace.delay() >= kUndoneFrom ? done.undone : "",
             .until = now_written.until,
             .is_wanted = false};
  }
  void operator()(const PlanMade& /*plan*/) const {
    for (auto& [action, retry] : memory.retries) {
      // While an object holds a child's name, the plan does not contain that child.
      retry.is_wanted = retry.taken && now < retry.until;
    }
  }
};

}  // namespace

// Memory::rendered is last: until then IsFirstLook() is that of the pass before.
void UpdateMemory(Observed& observed, const Instant& instant) {
  const TimePoint now = instant.monotonic;
  Memory& memory = observed.memory;
  std::erase_if(memory.clique_batching, [&](const auto& one) { return IsAtRest(one.second, now); });
  const auto idle = observed.domain ? IdleNodes(observed) : std::vector<std::string>();
  memory.idle_since = StillSo(idle, memory.idle_since, now);
  std::vector<std::string> lost;
  for (const auto& [name, node] : observed.nodes) {
    if (IsLost(observed, name)) lost.push_back(name);
  }
  memory.lost_since = StillSo(lost, memory.lost_since, now);
  memory.leaving_since = FindLeaving(observed, now);
  memory.unready_since = FindUnready(observed, now);
  memory.phases = FindPhases(observed, instant);
  memory.lost_for_long.clear();
  for (const auto& [node, since] : memory.lost_since) {
    if (now - since >= kLostForLong) memory.lost_for_long.insert(node);
  }
  memory.unlabelled_since =
      StillSo(UnlabelledNodes(observed, observed.children.claims), memory.unlabelled_since, now);
  memory.silent_since = FindSilentNodes(observed, now);
  memory.imex_of_jobs = FindImexOfJobs(observed, instant);
  memory.restart_is_known = SaysRestarted(observed) || AnyRestarted(memory.imex_of_jobs);
  memory.claims_are_labelled = AreClaimsLabelled(observed);
  KeepUses(observed, memory.lists_claim);
  memory.replacements = FindReplacements(observed, now);
  std::erase_if(memory.retries,
                [&](const auto& one) { return one.second.until + kForgotten <= now; });
  if (!observed.domain) return;
  memory.rebooted_before = FindRebootedBefore(observed);
  if (observed.domain->meta.deleting && !memory.deletion_seen) memory.deletion_seen = now;
  // Only if etcd was restored from a backup.
  if (!observed.domain->meta.deleting) memory.deletion_is_proven = false;
  const bool all_serve = std::ranges::all_of(memory.phases, [](const auto& item) {
    return item.second.is == MemberPhase::Is::kServing && !item.second.ends_since;
  });
  if (all_serve) {  // The next pod that is missing may have another cause.
    memory.creation_trouble.clear();
    memory.creation_trouble_read.reset();
  }
  memory.children_seen.merge(FindRoles(observed));
  const std::string& foreign = observed.domain->foreign_write;
  if (!memory.foreign_writes) {
    memory.foreign_writes = {.last = foreign};
  } else if (foreign != memory.foreign_writes->last) {
    memory.foreign_writes = {.last = foreign, .seen = now};
  }
  if (RenderedDaemonSet(observed).empty()) memory.rendered = HashChildren(observed);
}

RequeueAfter UntilLostForLong(const Memory& memory, TimePoint now) {
  RequeueAfter requeue_after;
  for (const auto& [node, since] : memory.lost_since) {
    if (memory.lost_for_long.contains(node)) continue;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(since + kLostForLong - now);
    requeue_after.AtMost(std::max(rest, std::chrono::milliseconds(1)));
  }
  return requeue_after;
}

Memory NextMemory(Memory memory, const MemoryChange& change, TimePoint now) {
  std::visit(Apply{.memory = memory, .now = now}, change);
  return memory;
}

}  // namespace compute_domain

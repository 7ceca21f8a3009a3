#include "controller/compute_domain/status/explanation/imex_health.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::Member;

struct Reporter {
  const Member& member;
  const api::ImexReport& report;
};

// Returns the members whose daemons have reported, in the order of `expected`.
std::vector<Reporter> ReportersOf(const PodByNode& pods, const std::vector<Member>& expected) {
  std::vector<Reporter> reporters;
  for (const Member& member : expected) {
    const api::DaemonPod* const pod = base::FindOr(pods, member.node, nullptr);
    if (pod != nullptr && pod->imex) reporters.push_back({.member = member, .report = *pod->imex});
  }
  return reporters;
}

// Pods deleted by force may run for another 30 s, and the kubelet retries the next claim after a
// few seconds.
constexpr std::chrono::seconds kIsNew{60};

// Of a message that another process wrote.
constexpr std::size_t kMessageMax = 1024;

// IMEX was started again: all pods in its clique that used the domain before lost what they shared.
struct Loss {
  std::optional<std::string> clique = {};  // Empty if it is not known.
  base::Clock::TimePoint until = {};
};

Loss LossOf(const api::DaemonPod& pod, const Instant& now) {
  const auto started = base::ParseTime(pod.imex->started);
  // Its time has whole seconds.
  const auto ago =
      started ? now.wall - *started - std::chrono::seconds(1) : std::chrono::seconds(0);
  return {.clique = pod.clique,
          .until = now.monotonic - std::chrono::duration_cast<std::chrono::nanoseconds>(ago)};
}

}  // namespace

Trouble ImexTroubleOf(const api::DaemonPod& pod) {
  if (!pod.imex) return {};
  if (pod.imex->in_use) return {api::kReasonImexOnHost, ""};
  const std::string& state = pod.imex->state;
  const bool waits = state == api::kImexWaitingForPeers || state == api::kImexWaitingForRecovery;
  if (waits) return {api::kReasonImexWaitsForQuorum, state};
  return {};
}

std::map<std::string, ImexOfJob> FindImexOfJobs(const Observed& observed, const Instant& now) {
  const std::map<std::string, ImexOfJob>& before = observed.memory.imex_of_jobs;
  // A report that is older than the container is about an IMEX that has ended. Both times are in
  // UTC and have seconds, so texts compare as times do.
  const auto reports = [](const api::DaemonPod& pod) {
    return pod.imex && !pod.imex->started.empty() && pod.started <= pod.imex->started;
  };
  const bool any = std::ranges::any_of(observed.children.daemon_pods, reports);
  if (!observed.domain || (before.empty() && !any)) return {};  // NVIDIA's daemons send no reports.
  const bool another_says_so = SaysRestarted(observed) && !observed.memory.restart_is_known;
  constexpr std::hash<std::string> kHash;
  const PodByNode pods = PodsThatCount(observed);
  std::map<std::string, ImexOfJob> jobs;
  std::vector<Loss> losses;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    ImexOfJob job = {.claim = kHash(claim.meta.uid), .since = now.monotonic};
    const ImexOfJob* const known = base::Find(before, claim.node);
    if (known != nullptr && known->claim == job.claim) job = *known;
    job.is_elsewhere = job.is_elsewhere || another_says_so;
    // A plugin labels the node before a pod starts, and removes the label after the last pod. So a
    // daemon that serves on a node without the label served the previous job.
    const api::Node* const node = base::Find(observed.nodes, claim.node);
    const bool is_labelled = node != nullptr && node->domain == observed.uid;
    if (!is_labelled && !job.is_another && now.monotonic - job.since < kIsNew) job.began.reset();
    const api::DaemonPod* const pod = base::FindOr(pods, claim.node, nullptr);
    // Pods start when their daemon serves. A daemon that does not serve may be another one.
    if (is_labelled && pod != nullptr && Serves(*pod) && reports(*pod)) {
      const std::size_t started = kHash(pod->imex->started);
      if (!job.began) job.began = started;
      if (job.began != started && !job.is_another) losses.push_back(LossOf(*pod, now));
      if (job.began != started) job.is_another = true;
    }
    jobs.emplace(claim.node, job);
  }
  for (auto& [node, job] : jobs) {
    const api::DaemonPod* const pod = base::FindOr(pods, node, nullptr);
    const auto clique = pod == nullptr ? std::nullopt : pod->clique;
    job.is_elsewhere =
        job.is_elsewhere || std::ranges::any_of(losses, [&](const Loss& loss) {
          return job.since <= loss.until && (!clique || !loss.clique || clique == loss.clique);
        });
  }
  return jobs;
}

bool SaysRestarted(const Observed& observed) {
  return observed.domain && observed.domain->status.Says(api::kConditionMemoryShared,
                                                         api::kReasonImexRestartedUnderJob);
}

bool AnyRestarted(const std::map<std::string, ImexOfJob>& jobs) {
  return std::ranges::any_of(
      jobs, [](const auto& job) { return job.second.is_another || job.second.is_elsewhere; });
}

std::optional<SharingIssue> FindRestarted(const Observed& observed) {
  const std::map<std::string, ImexOfJob>& jobs = observed.memory.imex_of_jobs;
  if (!AnyRestarted(jobs)) return {};
  std::vector<std::string> nodes;
  for (const auto& [node, job] : jobs) {
    if (job.is_another) nodes.push_back(node);
  }
  std::string says = "IMEX was started again under pods that use it" +
                     (nodes.empty() ? "" : ": " + Names(nodes)) +
                     ". The memory that they shared is lost: restart their job if it does "
                     "not restart by itself, and read the log of the daemon there.";
  if (nodes.empty() && SaysRestarted(observed)) {
    const auto* const said = observed.domain->status.Find(api::kConditionMemoryShared);
    if (said->message.size() <= kMessageMax) says = said->message;
  }
  return SharingIssue{.reason = api::kReasonImexRestartedUnderJob, .says = " " + says};
}

std::optional<SharingIssue> FindOtherIndices(const PodByNode& pods,
                                             const std::vector<Member>& expected) {
  std::vector<std::string> others;
  for (const auto& [member, report] : ReportersOf(pods, expected)) {
    if (report.index < 0 || report.index == member.index) continue;
    others.push_back(member.node + " (as " + std::to_string(report.index) + ", not " +
                     std::to_string(member.index) + ")");
  }
  if (others.empty()) return {};
  return SharingIssue{
      .reason = api::kReasonImexIndexDiffers,
      .says = " IMEX runs with another index than its peers know: " + Names(others) +
              ". For administrators: delete the daemon pod of that node once no job needs it."};
}

std::optional<SharingIssue> FindUnreachable(const PodByNode& pods,
                                            const std::vector<Member>& expected) {
  std::map<std::pair<std::string, int>, std::string> nodes;
  std::map<std::string_view, int> sizes;
  for (const Member& member : expected) {
    nodes[{member.clique, member.index}] = member.node;
    ++sizes[member.clique];
  }
  std::vector<std::string> pairs;
  for (const auto& [member, report] : ReportersOf(pods, expected)) {
    const int peers = sizes[member.clique] - 1;
    if (peers > 1 && report.unreachable_count >= peers) {
      pairs.push_back(member.node + " to any other");  // Its peers would fill the list.
      continue;
    }
    for (const int index : report.unreachable) {
      // An index of no member, or its own index, says nothing about the domain.
      const std::string* const peer = base::Find(nodes, {member.clique, index});
      if (peer != nullptr && *peer != member.node) pairs.push_back(member.node + " to " + *peer);
    }
  }
  if (pairs.empty()) return {};
  return SharingIssue{.reason = api::kReasonImexPeersUnreachable,
                      .says = " IMEX has no connection from " + Names(pairs) +
                              ". Pods there share no memory. For administrators: check that daemon "
                              "pods reach each other "
                              "on TCP ports 50000 and 50005."};
}

std::optional<SharingIssue> FindPeersUnknown(const PodByNode& pods,
                                             const std::vector<Member>& expected) {
  std::vector<std::string> silent;
  for (const auto& [member, report] : ReportersOf(pods, expected)) {
    if (report.peers_unanswered) silent.push_back(member.node);
  }
  if (silent.empty()) return {};
  return SharingIssue{
      .reason = api::kReasonImexPeersUnknown,
      .says = " IMEX does not say which peers it reaches: " + Names(silent) +
              ". It hangs on at least one node of their clique, and pods there may share no "
              "memory. For administrators: when no job needs them, delete the daemon pods of the "
              "clique.",
      .sharing = SharingIssue::Sharing::kIsUnknown};
}

}  // namespace compute_domain

// Conditions of a ComputeDomain; each has a file of its own. Pure.
//
// A condition is computed from values. Its reasons are listed in status/reasons.h.
//
// To add a condition: write its file, call it in status.cc, and list its reasons in
// status/reasons.cc. Describe it in docs/reasons.md and crds/computedomains.yaml. test/lint reports
// what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/requeue_after.h"
#include "controller/compute_domain/rules/analysis.h"
#include "controller/compute_domain/status/explanation/explanation.h"
#include "controller/compute_domain/status/explanation/warnings.h"

namespace compute_domain {

// Input of the conditions. All references must outlive the call.
struct StatusInput {
  const Observed& observed;
  const Analysis& analysis;
  const Explanation& explanation;
  const Membership& membership;
  const Instant& now;
};

// What a deletion waits for.
struct DeletionWait {
  base::Clock::WallTime deadline = {};     // After it, the deletion continues despite the blockers.
  std::vector<std::string> blockers = {};  // Such as "pods/train-0 (claim ns/train-0-channel-x2)".
  bool jobs_have_ended = false;            // The blockers are daemons, not pods of a job.
  // Objects that finalizers of others keep. There is no time limit for these.
  std::vector<std::string> pinned = {};
  // The blockers may still end by themselves within this time. No Warning is raised before.
  std::chrono::milliseconds patience{0};
};

struct Verdict {
  Verdict() = default;
  Verdict(std::string_view its_status, std::string_view its_reason, std::string its_message)
      : status(its_status), reason(its_reason), message(std::move(its_message)) {}
  // Makes a verdict "False" with the reason of the failure.
  explicit Verdict(const Failure& failure) : Verdict("False", failure.reason, failure.message) {}

  std::string_view status = {};  // "True", "False" or "Unknown".
  std::string reason = {};       // Empty if there is nothing to report.
  std::string message = {};
};

Verdict JudgeAccepted(const StatusInput& input);
Verdict JudgeProvisioned(const StatusInput& input);
// `issues` is FindSharingIssues(). Used only if all expected members are ready.
Verdict JudgeMembersReady(const StatusInput& input, const std::vector<SharingIssue>& issues);
Verdict JudgeInUse(const StatusInput& input);
// Returns the first of `accepted`, `provisioned` and `members` that is not True. Returns Idle if no
// node takes part. Pending pods add their reason.
Verdict JudgeReady(const StatusInput& input, const Verdict& accepted, const Verdict& provisioned,
                   const Verdict& members);
// Returns whether the pods of the domain share memory, so that a job can be started: each pod runs
// on a ready member, and these are in one clique. It is not about the domain: Idle is False.
// `members` and `use` are JudgeMembersReady() and JudgeInUse(); `issues` is as for the former.
Verdict JudgeMemoryShared(const StatusInput& input, const Verdict& members, const Verdict& use,
                          const std::vector<SharingIssue>& issues);
// Empty unless NVIDIA's controller wrote the domain's status in the last minutes, or another client
// undoes what cdom writes.
Verdict JudgeConflicted(const StatusInput& input);
// Returns when JudgeConflicted() changes by itself.
RequeueAfter UntilConflictEnds(const Memory& memory, base::Clock::TimePoint now);
// Returns why a domain that is being deleted still exists. Ready and Provisioned have its status,
// too.
Verdict JudgeDeletion(const StatusInput& input, const DeletionWait& wait);

// Helpers that several conditions use.

// Returns whether the verdict is only that children cannot be read, so that they may exist.
bool IsOfUnread(const Verdict& verdict);
// Returns which kind that members depend on cannot be read, as Unknown. Empty if all can.
Verdict FindUnread(const Views& views);
// Returns why pods of the domain wait for a node. Empty if no pod waits.
Verdict JudgePendingPods(const StatusInput& input);
// Returns the number of ready members and of all members, as "3/4".
std::string ReadyOf(const std::vector<api::Member>& members);
// Returns the nodes on which pods hold channels of the domain, sorted.
std::vector<std::string> NodesThatUse(const Observed& observed);
// Returns a command for administrators about the domain's DaemonSet or its pods: "kubectl", the
// namespace, `what`, such as "get pods", and the selector.
std::string KubectlForDaemons(const Observed& observed, std::string_view what);
// Returns which plugins are missing, and how to fix it. Begins with a space.
std::string DescribeMissing(const MissingPlugins& missing);

}  // namespace compute_domain

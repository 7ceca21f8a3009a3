// The conditions of a ComputeDomain, a file for each. A condition is judged from values, and its
// reasons are those that status/reasons.h lists. Pure.
//
// To add one: write its file, call it in status.cc, list its reasons in status/reasons.cc, and
// describe it in docs/reasons.md and crds/computedomains.yaml. test/lint says what is missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/rules/analysis.h"
#include "controller/compute_domain/status/explanation/explanation.h"

namespace compute_domain {

// What conditions are judged from. All outlive the call.
struct StatusInput {
  const Observed& observed;
  const Analysis& analysis;
  const Explanation& explanation;
  const Membership& membership;
  const Instant& now;
};

// A deletion that waits, and for whom. Empty if it does not wait.
struct DeletionWait {
  base::Clock::WallTime deadline = {};     // After it the deletion goes on without the blockers.
  std::vector<std::string> blockers = {};  // Such as "pods/train-0 (claim ns/train-0-channel-x2)".
  bool jobs_have_ended = false;            // The blockers are daemons, not the pods of a job.
  std::vector<std::string> pinned = {};    // By finalizers of others, for which there is no bound.
  // The blockers may end by themselves within this time: no Warning is raised before.
  std::chrono::milliseconds patience{0};
};

struct Verdict {
  Verdict() = default;
  Verdict(std::string_view its_status, std::string_view its_reason, std::string its_message)
      : status(its_status), reason(its_reason), message(std::move(its_message)) {}
  // False, for the reason of the failure.
  explicit Verdict(const Failure& failure) : Verdict("False", failure.reason, failure.message) {}

  std::string_view status = {};  // True, False or Unknown.
  std::string reason = {};       // Empty if there is nothing to say.
  std::string message = {};
};

[[nodiscard]] Verdict JudgeAccepted(const StatusInput& input);
[[nodiscard]] Verdict JudgeProvisioned(const StatusInput& input);
[[nodiscard]] Verdict JudgeMembersReady(const StatusInput& input);
[[nodiscard]] Verdict JudgeInUse(const StatusInput& input);
// The first of `accepted`, `provisioned` and `members` that is not True; Idle if no node takes
// part. Pending pods add why they wait.
[[nodiscard]] Verdict JudgeReady(const StatusInput& input, const Verdict& accepted,
                                 const Verdict& provisioned, const Verdict& members);
// Why the domain, which is being deleted, still exists. Its status is that of Ready and
// Provisioned.
[[nodiscard]] Verdict JudgeDeletion(const StatusInput& input, const DeletionWait& wait);

// What several conditions say.

// Why pods of the domain wait for a node. Empty if none does.
[[nodiscard]] Verdict JudgePendingPods(const StatusInput& input);
// "3/4": how many of the members are ready.
[[nodiscard]] std::string ReadyOf(const std::vector<api::Member>& members);
// Nodes on which pods hold channels of the domain. Sorted.
[[nodiscard]] std::vector<std::string> NodesThatUse(const Observed& observed);
// Which plugins are missing, and what to do about it. Begins with a space.
[[nodiscard]] std::string DescribeMissing(const MissingPlugins& missing);

}  // namespace compute_domain

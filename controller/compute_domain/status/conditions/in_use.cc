#include "controller/api/names.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

Verdict JudgePendingPods(const StatusInput& input) {
  const Explanation& explanation = input.explanation;
  if (explanation.usage.waiting.empty()) return {};
  Verdict verdict = {"False", api::kReasonPodsWaiting,
                     "Waiting for a node: " + Names(explanation.usage.waiting) + "."};
  if (explanation.shortage) {
    verdict.reason = explanation.shortage->reason;
    verdict.message += " " + explanation.shortage->message;
  }
  verdict.message += explanation.capacity;
  return verdict;
}

Verdict JudgeInUse(const StatusInput& input) {
  const Observed& observed = input.observed;
  const Views& views = observed.facts.views;
  const std::string problem = views.ProblemOf(Kind::kClaim);
  if (!views.claims_are_read) {
    return {"Unknown",
            views.claims_are_granted ? views.problem_reason
                                     : std::string(api::kReasonPermissionMissing),
            "Claims cannot be read, so the use of the domain is unknown, and each node with its "
            "label counts as a member: " +
                problem};
  }
  if (!problem.empty()) {
    return {"Unknown", api::kReasonClaimsNotRead,
            "Claims cannot be read, so the use of the domain is unknown: " + problem + "."};
  }
  const Verdict waiting = JudgePendingPods(input);
  const std::string says = waiting.reason.empty() ? "" : " " + waiting.message;
  const std::vector<std::string>& users = input.explanation.usage.users;
  if (!users.empty()) {
    const std::optional<Shortage>& shortage = input.explanation.shortage;
    const bool matters = waiting.reason == api::kReasonNoRoomInClique ||
                         (shortage && NeedsAPerson(shortage->advice));
    return {"True", matters ? waiting.reason : std::string(api::kReasonClaimsReserved),
            "Used by " + Names(users) + "." + says};
  }
  return {"False", waiting.reason.empty() ? api::kReasonNoClaims : waiting.reason,
          "No pod holds a channel of the domain." + says};
}

}  // namespace compute_domain

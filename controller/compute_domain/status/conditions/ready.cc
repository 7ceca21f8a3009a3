#include "controller/api/names.h"
#include "controller/compute_domain/status/conditions/condition.h"
#include "controller/compute_domain/status/explanation/imex_health.h"

namespace compute_domain {

namespace {

// The row of a domain shows nothing of Accepted, so Ready says what is ignored or paused, unless
// something is wrong with members.
Verdict WithIgnored(Verdict ready, const Verdict& accepted) {
  const bool is_calm =
      ready.reason == api::kReasonIdle || ready.reason == api::kReasonAllMembersReady;
  const bool is_told = accepted.reason == api::kReasonPaused ||
                       accepted.reason == api::kReasonAnnotationInvalid ||
                       accepted.reason == api::kReasonPlacementMissing;
  if (!is_calm || !is_told) return ready;
  return {ready.status, accepted.reason, ready.message + " " + accepted.message};
}

}  // namespace

Verdict JudgeReady(const StatusInput& input, const Verdict& accepted, const Verdict& provisioned,
                   const Verdict& members) {
  const Observed& observed = input.observed;
  if (accepted.status != "True") return accepted;
  if (provisioned.status != "True") return provisioned;
  if (members.status == "False") return members;
  const Verdict waiting = JudgePendingPods(input);
  if (!waiting.reason.empty()) {
    return {"False", waiting.reason, members.message + " " + waiting.message};
  }
  // The daemons serve, and what pods had shared is lost.
  if (FindRestarted(observed)) return {"False", api::kReasonImexRestartedUnderJob, members.message};
  if (members.status == "True") return WithIgnored(members, accepted);
  if (observed.facts.settings->imex_on_hosts) return {"True", members.reason, members.message};
  return WithIgnored({"True", api::kReasonIdle,
                      "Provisioned; nodes join when pods that claim from " +
                          observed.domain->template_name + " are scheduled."},
                     accepted);
}

}  // namespace compute_domain

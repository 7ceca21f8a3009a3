#include "controller/api/names.h"
#include "controller/compute_domain/status/conditions/condition.h"
#include "controller/compute_domain/status/explanation/imex_health.h"

namespace compute_domain {

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
  if (FindRestarted(observed)) return {"False", api::kReasonImexRestarted, members.message};
  if (members.status == "True") return members;
  if (observed.facts.imex_on_hosts) return {"True", members.reason, members.message};
  return {"True", api::kReasonIdle,
          "Provisioned; nodes join when pods that claim from " + observed.domain->template_name +
              " are scheduled."};
}

}  // namespace compute_domain

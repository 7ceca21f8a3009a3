#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

bool IsOfUnread(const Verdict& verdict) { return verdict.reason == api::kReasonChildrenNotRead; }

Verdict JudgeAccepted(const StatusInput& input) {
  const Observed& observed = input.observed;
  const Analysis& analysis = input.analysis;
  if (analysis.objection) {
    Verdict objection(*analysis.objection);
    if (IsOfUnread(objection)) objection.status = "Unknown";
    return objection;
  }
  if (analysis.failure && analysis.failure->reason == api::kReasonTemplateNameTaken) {
    return Verdict(*analysis.failure);
  }
  // Existing children continue to work, even if cdom cannot read them.
  if (analysis.unreadable) {
    return {"True", analysis.unreadable->reason,
            "Nothing is created or repaired: " + analysis.unreadable->message};
  }
  if (IsPaused(observed)) {
    return {"True", api::kReasonPaused,
            "Annotation " + std::string(api::kPausedAnnotation) +
                ": nothing is created, repaired or deleted until you remove it."};
  }
  if (const std::optional<Failure> invalid = FindInvalidAnnotation(observed)) {
    return {"True", api::kReasonAnnotationInvalid, invalid->message};
  }
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
    const std::string problem = observed.facts.views.ProblemOf(kind);
    if (problem.empty()) continue;
    return {"True", api::kReasonChildrenNotRead, "Changes of children are not seen: " + problem};
  }
  return {"True", api::kReasonAccepted, "The spec is valid, and the cluster has what it needs."};
}

}  // namespace compute_domain

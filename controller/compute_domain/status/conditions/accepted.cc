#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

Verdict JudgeAccepted(const StatusInput& input) {
  const Observed& observed = input.observed;
  const Analysis& analysis = input.analysis;
  if (analysis.objection) return Verdict(*analysis.objection);
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
  return {"True", api::kReasonAccepted, "The spec is valid, and the cluster has what it needs."};
}

}  // namespace compute_domain

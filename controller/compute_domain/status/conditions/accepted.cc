#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

namespace {

// Returns why nothing keeps the pods of the domain in one clique. Empty if something does, if that
// is not known, or if they need not be.
std::string WhyNotPlaced(const Observed& observed) {
  const PlacementPolicy placement = observed.facts.cluster.placement;
  if (MaySpanCliques(observed)) return "";
  if (placement == PlacementPolicy::kMissing) {
    return "Nothing keeps the domain's pods in one clique: MutatingAdmissionPolicyBinding "
           "cdom-placement does not exist. For administrators: apply cdom-placement.yaml, or "
           "manifests/placement.";
  }
  if (placement == PlacementPolicy::kPreferredMissing && !IsPlaced(observed)) {
    return "The domain's pods do not prefer one clique: MutatingAdmissionPolicyBinding "
           "cdom-placement-preferred does not exist. For administrators: apply "
           "cdom-placement.yaml, or manifests/placement.";
  }
  if (placement == PlacementPolicy::kNotServed) {
    return "Nothing keeps the domain's pods in one clique, unless they have an affinity of their "
           "own: Kubernetes has MutatingAdmissionPolicies from 1.36 on, or from 1.34 on "
           "behind a feature gate.";
  }
  return "";
}

}  // namespace

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
  const std::string not_placed = WhyNotPlaced(observed);
  const bool is_missing = observed.facts.cluster.placement == PlacementPolicy::kMissing;
  if (IsPlaced(observed) && is_missing) {
    return {"True", api::kReasonPlacementMissing,
            "Label " + std::string(api::kPlacementLabel) + " has no effect. " + not_placed};
  }
  return {"True", api::kReasonAccepted,
          "The spec is valid, and the cluster has what it needs." +
              (not_placed.empty() ? "" : " " + not_placed)};
}

}  // namespace compute_domain

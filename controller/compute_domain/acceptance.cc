#include "controller/compute_domain/acceptance.h"

#include <algorithm>

#include "controller/api/names.h"
#include "pkg/base/duration.h"
#include "pkg/kube/api/names.h"

namespace compute_domain {

bool IsProvisioned(const Observed& observed) {
  const kube::Condition* said = observed.domain->status.Find(api::kConditionProvisioned);
  return (said != nullptr && said->status == "True") || observed.domain->status.status == "Ready";
}

std::optional<Failure> FindBlindness(const Observed& observed) {
  const Views& views = observed.facts.views;
  if (views.problem_reason.empty()) return {};
  return Failure{.reason = views.problem_reason, .message = views.problem};
}

std::optional<Failure> FindObjection(const Observed& observed) {
  if (!IsProvisioned(observed)) {
    if (std::optional<Failure> blindness = FindBlindness(observed)) return blindness;
  }
  if (!observed.domain->has_spec) {
    return Failure{.reason = std::string(api::kReasonSpecMissing),
                   .message =
                       "The domain has no spec.channel, so there is nothing to make. Delete it and "
                       "create it again with spec.channel.resourceClaimTemplate.name."};
  }
  if (!kube::IsDnsSubdomain(observed.domain->template_name)) {
    return Failure{
        .reason = std::string(api::kReasonTemplateNameInvalid),
        .message =
            "spec.channel.resourceClaimTemplate.name is not the name of an object: use at "
            "most 253 lower-case letters, digits, '-' and '.', such as train-channel. "
            "Delete the domain and create it again with such a name."};
  }
  return {};
}

std::optional<Failure> FindInvalidAnnotation(const Observed& observed) {
  const std::string& paused = observed.domain->paused;
  if (!paused.empty() && paused != "true" && paused != "false") {
    return Failure{.reason = std::string(api::kReasonAnnotationInvalid),
                   .message = "Annotation " + std::string(api::kPausedAnnotation) +
                              " is not heeded: use true or false."};
  }
  const std::string& roll = observed.domain->daemon_roll;
  if (!roll.empty() && roll != "Always" && roll != "WhenIdle") {
    return Failure{.reason = std::string(api::kReasonAnnotationInvalid),
                   .message = "Annotation " + std::string(api::kDaemonRollAnnotation) +
                              " is not heeded, and no daemon is replaced under a job: use Always "
                              "or WhenIdle."};
  }
  const std::string& grace = observed.domain->deletion_grace;
  if (grace.empty()) return {};
  const auto parsed = base::ParseDuration(grace);
  if (parsed) return {};
  return Failure{.reason = std::string(api::kReasonAnnotationInvalid),
                 .message = "Annotation " + std::string(api::kDeletionGraceAnnotation) +
                            " is not heeded: " + parsed.error().message + ", or 0."};
}

bool IsPaused(const Observed& observed) { return observed.domain->paused == "true"; }

std::chrono::seconds DeletionGrace(const Observed& observed) {
  const std::string& grace = observed.domain->deletion_grace;
  if (grace.empty()) return observed.facts.deletion_grace;
  const auto parsed = base::ParseDuration(grace);
  return parsed ? std::chrono::ceil<std::chrono::seconds>(*parsed) : observed.facts.deletion_grace;
}

}  // namespace compute_domain

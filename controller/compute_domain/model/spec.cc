#include "controller/compute_domain/model/spec.h"

#include "controller/api/names.h"
#include "pkg/base/duration.h"
#include "pkg/base/number.h"
#include "pkg/kube/api/names.h"

namespace compute_domain {

namespace {

// The API server takes claims of up to 32 devices, one of which is the channel.
constexpr int kGpusMax = 31;

std::optional<int> ParseGpuCount(std::string_view text) {
  const std::optional<int> count = base::ParseNumber<int>(text);
  return count && *count >= 1 && *count <= kGpusMax ? count : std::nullopt;
}

// The driver's own devices are none: a claim takes one channel, and no user's takes a daemon's.
bool IsGpuClass(std::string_view name) {
  return kube::IsDnsSubdomain(name) && name != api::kChannelDeviceClass &&
         name != api::kDaemonDeviceClass;
}

std::optional<Failure> FindInvalidGpus(const Observed& observed) {
  constexpr std::string_view kMeanwhile =
      " is not heeded, and the claim template stays as it is, or is made without GPUs: use ";
  const std::string& asked = observed.domain->gpus;
  const std::string& device_class = observed.domain->gpu_class;
  std::string fault;
  if (!device_class.empty() && !IsGpuClass(device_class)) {
    fault = std::string(api::kGpuClassAnnotation) + std::string(kMeanwhile) +
            "the name of a DeviceClass of GPUs, such as " + std::string(api::kGpuDeviceClass) + ".";
  } else if (!device_class.empty() && asked.empty()) {
    fault = std::string(api::kGpuClassAnnotation) + std::string(kMeanwhile) + "it together with " +
            std::string(api::kGpusAnnotation) + ".";
  } else if (!asked.empty() && asked != "All" && !ParseGpuCount(asked)) {
    fault = std::string(api::kGpusAnnotation) + std::string(kMeanwhile) + "a number from 1 to " +
            std::to_string(kGpusMax) + ", or All for all of a node.";
  }
  if (fault.empty()) return {};
  return MakeFailure(api::kReasonAnnotationInvalid, "Annotation " + fault);
}

}  // namespace

bool IsProvisioned(const Observed& observed) {
  const kube::Condition* said = observed.domain->status.Find(api::kConditionProvisioned);
  return (said != nullptr && said->status == "True") || observed.domain->status.status == "Ready";
}

std::optional<Failure> FindUnreadableDependency(const Observed& observed) {
  const Views& views = observed.facts.views;
  if (views.problem_reason.empty()) return {};
  return Failure{.reason = views.problem_reason, .message = views.problem};
}

std::optional<Failure> ValidateDomain(const Observed& observed) {
  if (!IsProvisioned(observed)) {
    if (std::optional<Failure> unreadable = FindUnreadableDependency(observed)) return unreadable;
  }
  if (!observed.domain->has_spec) {
    return MakeFailure(api::kReasonSpecMissing,
                       "The domain has no spec.channel, so there is nothing to make. Delete it and "
                       "create it again with spec.channel.resourceClaimTemplate.name.");
  }
  const kube::ObjectMeta& meta = observed.domain->meta;
  if (!meta.is_whole && !meta.HasFinalizer(api::kFinalizer)) {
    return MakeFailure(
        api::kReasonProvisioningFailed,
        "metadata.finalizers or metadata.ownerReferences has more than 8 entries, so "
        "the controller does not add its finalizer. Remove what nobody needs.");
  }
  if (!kube::IsDnsSubdomain(observed.domain->template_name)) {
    return MakeFailure(
        api::kReasonTemplateNameInvalid,
        "spec.channel.resourceClaimTemplate.name is not the name of an object: use at "
        "most 253 lower-case letters, digits, '-' and '.', such as train-channel. "
        "Delete the domain and create it again with such a name.");
  }
  return {};
}

std::optional<Failure> FindInvalidAnnotation(const Observed& observed) {
  const std::string& paused = observed.domain->paused;
  if (!paused.empty() && paused != "true" && paused != "false") {
    return MakeFailure(
        api::kReasonAnnotationInvalid,
        "Annotation " + std::string(api::kPausedAnnotation) + " is not heeded: use true or false.");
  }
  const std::string& roll = observed.domain->daemon_roll;
  if (!roll.empty() && roll != "Always" && roll != "WhenIdle") {
    return MakeFailure(api::kReasonAnnotationInvalid,
                       "Annotation " + std::string(api::kDaemonRollAnnotation) +
                           " is not heeded, and no daemon is replaced under a job: use Always "
                           "or WhenIdle.");
  }
  if (!observed.domain->placement.empty() && !IsPlaced(observed)) {
    return MakeFailure(api::kReasonAnnotationInvalid,
                       "Label " + std::string(api::kPlacementLabel) + " is not heeded: use " +
                           std::string(api::kPlacementClique) + " or " +
                           std::string(api::kPlacementExclusive) + ".");
  }
  if (auto invalid = FindInvalidGpus(observed)) return invalid;
  const std::string& grace = observed.domain->deletion_grace;
  if (grace.empty()) return {};
  const auto parsed = base::ParseDuration(grace);
  if (parsed) return {};
  return MakeFailure(api::kReasonAnnotationInvalid,
                     "Annotation " + std::string(api::kDeletionGraceAnnotation) +
                         " is not heeded: " + parsed.error().message + ", or 0.");
}

GpuRequest FindGpus(const Observed& observed) {
  if (FindInvalidGpus(observed)) return {.is_clear = false};
  const api::ComputeDomain& domain = *observed.domain;
  if (domain.gpus.empty()) return {};
  resource_claim_template::Gpus gpus = {.device_class = domain.gpu_class};
  if (gpus.device_class.empty()) gpus.device_class = api::kGpuDeviceClass;
  gpus.count = ParseGpuCount(domain.gpus).value_or(0);  // 0: all.
  return {.gpus = std::move(gpus)};
}

bool IsPlaced(const api::ComputeDomain& domain) {
  return domain.placement == api::kPlacementClique || domain.placement == api::kPlacementExclusive;
}

bool IsPlaced(const Observed& observed) { return IsPlaced(*observed.domain); }

bool IsPaused(const Observed& observed) { return observed.domain->paused == "true"; }

std::chrono::seconds DeletionGrace(const Observed& observed) {
  const std::string& grace = observed.domain->deletion_grace;
  if (grace.empty()) return observed.facts.deletion_grace;
  const auto parsed = base::ParseDuration(grace);
  return parsed ? std::chrono::ceil<std::chrono::seconds>(*parsed) : observed.facts.deletion_grace;
}

}  // namespace compute_domain

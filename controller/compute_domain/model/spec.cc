#include "controller/compute_domain/model/spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/did_you_mean.h"
#include "pkg/base/duration.h"
#include "pkg/base/find.h"
#include "pkg/base/number.h"
#include "pkg/base/text.h"
#include "pkg/kube/api/names.h"

namespace compute_domain {

namespace {

// The API server allows 32 devices in a claim. One of them is the channel.
constexpr int kGpusMax = 31;

std::optional<int> ParseGpuCount(std::string_view text) {
  const std::optional<int> count = base::ParseNumber<int>(text);
  return count && *count >= 1 && *count <= kGpusMax ? count : std::nullopt;
}

// Returns false for the driver's own classes: each claim has one channel, and no daemon device.
bool IsGpuClass(std::string_view name) {
  return kube::IsDnsSubdomain(name) && name != api::kChannelDeviceClass &&
         name != api::kDaemonDeviceClass;
}

// Returns the invalid GPU annotations and what to use instead. Empty if both are valid.
std::string FindInvalidGpus(const Observed& observed) {
  constexpr std::string_view kMeanwhile =
      " is ignored, and the claim template stays as it is, or is created without GPUs: use ";
  const std::string& asked = observed.domain->gpus;
  const std::string& device_class = observed.domain->gpu_class;
  std::string message;
  const auto add = [&](std::string_view key, const std::string& valid) {
    message += (message.empty() ? "" : " ") + ("Annotation " + std::string(key)) +
               std::string(kMeanwhile) + valid + ".";
  };
  if (!device_class.empty() && !IsGpuClass(device_class)) {
    add(api::kGpuClassAnnotation,
        "the name of a DeviceClass of GPUs, such as " + std::string(api::kGpuDeviceClass));
  } else if (!device_class.empty() && asked.empty()) {
    add(api::kGpuClassAnnotation, "it together with " + std::string(api::kGpusAnnotation));
  }
  if (!asked.empty() && asked != "All" && !ParseGpuCount(asked)) {
    add(api::kGpusAnnotation,
        "a number from 1 to " + std::to_string(kGpusMax) + ", or All for all of a node");
  }
  return message;
}

// Describes a key of cdom.dev/ that has no meaning on a domain, such as "label cdom.dev/gpus".
std::string DescribeUnknown(const std::string& key, bool is_label) {
  const std::string shown = (is_label ? "label " : "annotation ") + key;
  std::vector<std::string> annotations(api::kDomainAnnotations.begin(),
                                       api::kDomainAnnotations.end());
  std::vector<std::string> labels(api::kDomainLabels.begin(), api::kDomainLabels.end());
  const std::vector<std::string>& others = is_label ? annotations : labels;
  if (base::Contains(others, key)) {
    return shown + " (make it " + (is_label ? "an annotation)" : "a label)");
  }
  std::vector<std::string> known = std::move(annotations);
  known.insert(known.end(), labels.begin(), labels.end());
  const std::string nearest = base::Nearest(key, known);
  return shown + (nearest.empty() ? "" : " (did you mean " + nearest + "?)");
}

// Returns a sentence with the keys that have no meaning. Empty if there are none.
std::string FindUnknownKeys(const Observed& observed) {
  constexpr std::size_t kShown = 5;
  const api::ComputeDomain& domain = *observed.domain;
  std::vector<std::string> keys;
  keys.reserve(domain.unknown_annotations.size() + domain.unknown_labels.size());
  for (const auto& key : domain.unknown_annotations) keys.push_back(DescribeUnknown(key, false));
  for (const auto& key : domain.unknown_labels) keys.push_back(DescribeUnknown(key, true));
  return keys.empty() ? "" : "Unknown, and ignored: " + base::JoinFew(keys, kShown) + ".";
}

// Returns whether the cache shows every child. Where the CRD keeps no conditions, status does not.
bool AreChildrenSeen(const Observed& observed) {
  const Children& children = observed.children;
  const Views& views = observed.facts.views;
  const auto any = [&](const auto& objects, auto is) {
    return std::ranges::any_of(objects, [&](const auto& one) { return is(observed, one); });
  };
  const auto is_implied = [&](Freshness freshness) {
    return freshness == Freshness::kUnknown && !children.daemon_pods.empty();
  };
  const bool has_templates =
      is_implied(views.Of(Kind::kClaimTemplate)) ||
      (any(children.templates, IsWorkloadTemplate) &&
       (observed.facts.settings->imex_on_hosts || any(children.templates, IsDaemonTemplate)));
  return has_templates &&
         (observed.facts.settings->imex_on_hosts || is_implied(views.Of(Kind::kDaemonSet)) ||
          any(children.daemon_sets, IsDaemonSet));
}

}  // namespace

bool IsProvisioned(const Observed& observed) {
  const api::DomainStatus& status = observed.domain->status;
  return status.IsTrue(api::kConditionProvisioned) || status.status == "Ready" ||
         AreChildrenSeen(observed);
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
                       "The domain has no spec.channel, so nothing is created. Delete it and "
                       "create it again with spec.channel.resourceClaimTemplate.name.");
  }
  const kube::ObjectMeta& meta = observed.domain->meta;
  if (!meta.is_whole && !meta.HasFinalizer(api::kFinalizer)) {
    return MakeFailure(
        api::kReasonProvisioningFailed,
        "metadata.finalizers or metadata.ownerReferences has more than 8 entries, so the "
        "controller does not add its finalizer. Remove entries that are not needed.");
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
  const api::ComputeDomain& domain = *observed.domain;
  std::string message;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) message += (message.empty() ? "" : " ") + sentence;
  };
  const auto ignored = [](std::string_view kind, std::string_view key) {
    return std::string(kind) + " " + std::string(key) + " is ignored";
  };
  if (!domain.paused.empty() && domain.paused != "true" && domain.paused != "false") {
    add(ignored("Annotation", api::kPausedAnnotation) + ": use true or false.");
  }
  const std::string& roll = domain.daemon_roll;
  if (!roll.empty() && roll != "Always" && roll != "WhenIdle") {
    add(ignored("Annotation", api::kDaemonRollAnnotation) +
        ", and no daemon is replaced under a job: use Always or WhenIdle.");
  }
  if (!domain.placement.empty() && !IsPlaced(observed) && !MaySpanCliques(observed)) {
    add(ignored("Label", api::kPlacementLabel) + ": use " + std::string(api::kPlacementClique) +
        ", " + std::string(api::kPlacementExclusive) + " or " + std::string(api::kPlacementAny) +
        ".");
  }
  if (!domain.placement_group.empty() && !kube::IsLabelKey(domain.placement_group)) {
    add("Annotation " + std::string(api::kPlacementGroupAnnotation) +
        " is invalid: use the key of a label of the pods, such as example.com/rank.");
  }
  add(FindInvalidGpus(observed));
  if (!domain.deletion_grace.empty()) {
    const auto parsed = base::ParseDuration(domain.deletion_grace);
    if (!parsed) {
      add(ignored("Annotation", api::kDeletionGraceAnnotation) + ": " + parsed.error().message +
          ", or 0.");
    }
  }
  add(FindUnknownKeys(observed));
  if (message.empty()) return {};
  return MakeFailure(api::kReasonAnnotationInvalid, std::move(message));
}

GpuRequest FindGpus(const Observed& observed) {
  if (!FindInvalidGpus(observed).empty()) return {.is_clear = false};
  const api::ComputeDomain& domain = *observed.domain;
  if (domain.gpus.empty()) return {};
  resource_claim_template::Gpus gpus = {.device_class = domain.gpu_class};
  if (gpus.device_class.empty()) gpus.device_class = api::kGpuDeviceClass;
  gpus.count = ParseGpuCount(domain.gpus).value_or(0);  // 0 requests all GPUs.
  return {.gpus = std::move(gpus)};
}

int NumberOfGpus(const Observed& observed) {
  const auto gpus = FindGpus(observed).gpus;
  return gpus && gpus->device_class == api::kGpuDeviceClass ? gpus->count : 0;
}

bool IsPlaced(const api::ComputeDomain& domain) {
  return domain.placement == api::kPlacementClique || domain.placement == api::kPlacementExclusive;
}

bool IsPlaced(const Observed& observed) { return IsPlaced(*observed.domain); }

bool MaySpanCliques(const Observed& observed) {
  return observed.domain->placement == api::kPlacementAny;
}

bool IsPaused(const Observed& observed) { return observed.domain->paused == "true"; }

std::chrono::seconds DeletionGrace(const Observed& observed) {
  const std::string& grace = observed.domain->deletion_grace;
  if (grace.empty()) return observed.facts.settings->deletion_grace;
  const auto parsed = base::ParseDuration(grace);
  return parsed ? std::chrono::ceil<std::chrono::seconds>(*parsed)
                : observed.facts.settings->deletion_grace;
}

}  // namespace compute_domain

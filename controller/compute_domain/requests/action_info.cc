#include "controller/compute_domain/requests/action_info.h"

#include "controller/api/names.h"
#include "pkg/json/repair.h"

namespace compute_domain {

using base::ErrorCode;

namespace {

// Returns what to do about a 403, which has many causes.
std::string HelpAgainst(const base::Error& forbidden) {
  const auto says = [&](const char* messages) {
    return forbidden.message.find(messages) != std::string::npos;
  };
  if (forbidden.cause == "NamespaceTerminating") {
    return "The namespace is being deleted. The controller continues when a namespace of this name "
           "exists.";
  }
  if (says("exceeded quota")) {
    return "Raise this quota, or free some of it. The controller then continues.";
  }
  if (says(" cannot ")) {  // User "x" cannot create resource ...
    return "Grant the controller this permission (cdom's manifests have all of them: apply them "
           "again). It then "
           "continues.";
  }
  return "Remove what forbids it. The controller then continues.";
}

// Explains a refusal by the policy for controllers. The policy's own message is for people who
// delete a child by hand.
std::string RefusedByOwnPolicy(const std::string& user) {
  const std::string refuses =
      "The policy " + std::string(api::kChildDeletionPolicy) + " refuses this controller";
  if (user.empty()) {
    return refuses + ": run it as ServiceAccount cdom-controller, or name its user in the policy.";
  }
  const std::string as = refuses + ", which runs as user " + user;
  if (api::IsControllerAccount(user)) {
    return as +
           ": allow that account to patch computedomains/status, by which the policy knows a "
           "controller.";
  }
  return as + ": run it as ServiceAccount cdom-controller, or name " + user + " in the policy.";
}

bool IsOfOwnPolicy(const base::Error& error) {
  const std::string name =
      "ValidatingAdmissionPolicy '" + std::string(api::kChildDeletionPolicy) + "'";
  return error.message.find(name) != std::string::npos;
}

}  // namespace

const std::string* DraVersion(Kind kind, const Facts& facts) {
  if (kind == Kind::kClaimTemplate) return &facts.views.template_version;
  return kind == Kind::kClaim ? &facts.views.claim_version : nullptr;
}

kube::Resource ResourceOf(Kind kind, const Facts& facts) {
  kube::Resource resource = ResourceOf(kind);
  const std::string* version = DraVersion(kind, facts);
  if (version != nullptr && !version->empty()) resource.version = *version;
  return resource;
}

base::Result<NameHolder> DecodeHolder(std::string_view body) {
  const json::Document object = TRY(json::ParseRepaired(body));
  const api::ResourceClaimTemplate decoded =
      TRY(api::DecodeResourceClaimTemplate(object));  // It decodes the labels of a DaemonSet, too.
  return NameHolder{decoded.meta, decoded.domain, decoded.target, decoded.template_hash};
}

void Expect(ActionResult& result, Kind kind, const kube::ObjectKey& key,
            std::string resource_version) {
  result.expectations.push_back(
      {.kind = kind, .key = key, .resource_version = std::move(resource_version)});
}

base::Result<kube::ObjectMeta> DecodeMetaOf(std::string_view body) {
  const json::Document object = TRY(json::ParseRepaired(body));
  return kube::DecodeMeta(object);
}

std::optional<Failure> FailureOf(const base::Error& error, const std::string& user) {
  switch (error.code) {
    case ErrorCode::kForbidden:
      if (IsOfOwnPolicy(error)) return MakeFailure(api::kReasonForbidden, RefusedByOwnPolicy(user));
      return MakeFailure(api::kReasonForbidden, error.message + ". " + HelpAgainst(error));
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kNotFound:
      return MakeFailure(api::kReasonProvisioningFailed, error.message);
    default:
      return {};
  }
}

}  // namespace compute_domain

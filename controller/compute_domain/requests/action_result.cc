#include "controller/compute_domain/requests/action_result.h"

#include <algorithm>

#include "controller/api/names.h"
#include "pkg/base/overload.h"
#include "pkg/json/repair.h"
#include "pkg/kube/client/request.h"

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

// Returns the field manager of the last write by another client. Empty if it is not known.
template <typename T>
std::string WriterOf(const std::vector<T>& objects, const kube::ObjectKey& key) {
  const auto it =
      std::ranges::find_if(objects, [&](const T& object) { return object.meta.key == key; });
  return it == objects.end() ? std::string() : it->last_writer;
}

std::string WriterOf(Kind kind, const kube::ObjectKey& key, const Observed& observed) {
  if (kind == Kind::kDaemonSet) return WriterOf(observed.children.daemon_sets, key);
  if (kind == Kind::kClaimTemplate) return WriterOf(observed.children.templates, key);
  if (kind == Kind::kClique) return WriterOf(observed.children.cliques, key);
  const bool is_domain = kind == Kind::kComputeDomain && observed.domain;
  return is_domain ? observed.domain->last_writer : std::string();
}

// What an action changes. `does` completes "Another client ...".
struct Change {
  std::string does = {};
  std::string writer = {};
};

Change ChangeOf(const Action& action, const Observed& observed) {
  const ActionId id = IdOf(action);
  const std::string name = ResourceOf(id.kind).kind + " " + kube::ToString(id.key);
  const std::string writer = WriterOf(id.kind, id.key, observed);
  const auto of = [&](const std::string& field) {
    return Change{"undoes the controller's writes of " + field + " of " + name, writer};
  };
  return std::visit(
      base::Overload{
          [&](const Create&) {
            return Change{"deletes " + name + " each time the controller creates it"};
          },
          [&](const Delete&) {
            return Change{"creates " + name + " again each time the controller deletes it", writer};
          },
          [&](const WriteFinalizers&) { return of("metadata.finalizers"); },
          [&](const WriteClique&) { return of("daemons"); },
          [&](const WritePodTemplate&) { return of("spec.template"); },
          [&](const WriteIdentity&) { return of("metadata.labels"); },
          [&](const RemoveNodeLabel&) { return of("the domain's label"); },
          [&](const RestoreNodeLabel&) { return of("the domain's label"); },
          [&](const WriteStatus&) {
            Change change = of("status");
            change.writer = observed.domain ? observed.domain->last_status_writer : "";
            return change;
          },
          [](const auto&) { return Change(); }},
      action);
}

}  // namespace

std::string DescribeUndoing(const Action& action, const Observed& observed) {
  const Change change = ChangeOf(action, observed);
  const std::string who = change.writer.empty() ? "" : " (" + change.writer + ")";
  return "Another client" + who + " " + change.does +
         ". For administrators: stop that client from writing this object.";
}

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

base::Result<void> CheckList(Kind kind, const kube::ListPage& list, bool metadata_only) {
  const bool is_it = list.kind == ResourceOf(kind).kind + "List" ||
                     (metadata_only && list.kind == "PartialObjectMetadataList");
  if (is_it) return {};
  return base::Unavailable("a list came as \"" + list.kind + "\"");
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
  if (error.cause == kube::kNotFromApiServer) {
    return MakeFailure(api::kReasonProvisioningFailed,
                       error.message +
                           ". A proxy between the controller and the API server sent "
                           "this: let it pass the request on.");
  }
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

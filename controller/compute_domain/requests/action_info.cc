#include "controller/compute_domain/requests/action_info.h"

#include "controller/api/names.h"
#include "pkg/json/repair.h"

namespace compute_domain {

using base::ErrorCode;
using base::Result;

namespace {

template <typename... Arms>
struct Overload : Arms... {
  using Arms::operator()...;
};

// What to do about a 403, which means many things.
std::string HelpAgainst(const base::Error& forbidden) {
  const auto says = [&](const char* messages) {
    return forbidden.message.find(messages) != std::string::npos;
  };
  if (forbidden.cause == "NamespaceTerminating") {
    return "The namespace is being deleted; it goes on once there is one of this name again.";
  }
  if (says("exceeded quota")) {
    return "Raise this quota, or free what uses it up; it goes on by itself.";
  }
  if (says(" cannot ")) {  // User "x" cannot create resource ...
    return "Grant the controller this right (manifests/standalone holds all that it needs); it "
           "goes on by itself.";
  }
  return "Lift what forbids it; it goes on by itself.";
}

}  // namespace

const std::string* DraVersion(Kind kind, const Facts& facts) {
  if (kind == Kind::kClaimTemplate) return &facts.views.template_version;
  return kind == Kind::kClaim ? &facts.views.claim_version : nullptr;
}

const kube::Resource& ResourceOf(Kind kind) {
  switch (kind) {
    case Kind::kComputeDomain:
      return api::kComputeDomains;
    case Kind::kDaemonSet:
      return kube::kDaemonSets;
    case Kind::kClaimTemplate:
      return kube::kResourceClaimTemplates;
    case Kind::kClique:
      return api::kComputeDomainCliques;
    case Kind::kDaemonPod:
      return kube::kPods;
    case Kind::kClaim:
      return kube::kResourceClaims;
    case Kind::kNode:
      return kube::kNodes;
  }
  return kube::kNodes;
}

kube::Resource ResourceOf(Kind kind, const Facts& facts) {
  kube::Resource resource = ResourceOf(kind);
  const std::string* version = DraVersion(kind, facts);
  if (version != nullptr && !version->empty()) resource.version = *version;
  return resource;
}

Result<NameHolder> DecodeHolder(const std::string& body) {
  json::Parser parser;
  const json::View object = TRY(json::ParseRepaired(parser, body));
  const api::ResourceClaimTemplate decoded =
      TRY(api::DecodeResourceClaimTemplate(object));  // Labels, as a DaemonSet has.
  return NameHolder{decoded.meta, decoded.domain, decoded.target, decoded.template_hash};
}

Result<kube::ObjectMeta> DecodeMetaOf(const std::string& body) {
  json::Parser parser;
  const json::View object = TRY(json::ParseRepaired(parser, body));
  return kube::DecodeMeta(object);
}

std::string Describe(const Action& action) {
  const auto of = [](const char* verb, Kind kind, const kube::ObjectKey& key) {
    return verb + (" " + ResourceOf(kind).kind) + " " + kube::ToString(key);
  };
  return std::visit(
      Overload{
          [&](const Create& create) { return of("create", create.kind, create.key); },
          [&](const Delete& remove) { return of("delete", remove.kind, remove.key); },
          [&](const ReplaceDaemon& replace) {
            return of("replace", Kind::kDaemonPod, replace.key);
          },
          [&](const WriteFinalizers& write) {
            return of("patch finalizers of", write.kind, write.object.key);
          },
          [&](const WriteClique& write) { return of("patch", Kind::kClique, write.clique.key); },
          [&](const WritePodTemplate& write) {
            return of("replace the pod template of", Kind::kDaemonSet, write.daemon_set.key);
          },
          [&](const WriteIdentity& write) {
            return of(write.owners.IsNull() ? "patch labels of" : "patch labels and owner of",
                      write.kind, write.object.key);
          },
          [&](const RemoveNodeLabel& remove) {
            return of("remove the domain label of", Kind::kNode, {.name = remove.node});
          },
          [&](const RestoreNodeLabel& restore) {
            return of("put the domain label back on", Kind::kNode, {.name = restore.node});
          },
          [&](const WriteStatus& write) {
            return of("patch status of", Kind::kComputeDomain, write.domain.key);
          },
          [&](const ReadOwner& read) {
            return read.key ? of("get", Kind::kComputeDomain, *read.key)
                            : std::string("list ComputeDomains");
          },
          [](const ReadChildren&) { return std::string("list what the domain left"); },
          [](const ReadDaemons&) { return std::string("list daemon pods and cliques"); },
          [](const ReadPodConditions& read) { return "get waiting Pods of " + read.ns; },
          [](const ReadClaims& read) { return "list ResourceClaims of " + read.ns; },
          [&](const ReadTaken& read) { return of("get", read.kind, read.key); }},
      action);
}

bool IsWrite(const Action& action) {
  return !std::holds_alternative<ReadOwner>(action) &&
         !std::holds_alternative<ReadChildren>(action) &&
         !std::holds_alternative<ReadDaemons>(action) &&
         !std::holds_alternative<ReadClaims>(action) &&
         !std::holds_alternative<ReadPodConditions>(action) &&
         !std::holds_alternative<ReadTaken>(action);
}

bool IsAside(const Action& action) {
  return std::holds_alternative<RemoveNodeLabel>(action) ||
         std::holds_alternative<RestoreNodeLabel>(action) ||
         std::holds_alternative<ReplaceDaemon>(action) ||
         std::holds_alternative<ReadClaims>(action) ||
         std::holds_alternative<ReadPodConditions>(action);
}

std::optional<Failure> FailureOf(const base::Error& error) {
  switch (error.code) {
    case ErrorCode::kForbidden:
      return Failure{.reason = std::string(api::kReasonForbidden),
                     .message = error.message + ". " + HelpAgainst(error)};
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kNotFound:
      return Failure{.reason = std::string(api::kReasonProvisioningFailed),
                     .message = error.message};
    default:
      return {};
  }
}

}  // namespace compute_domain

#include "controller/compute_domain/requests/writes.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/check.h"
#include "pkg/base/find.h"
#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

using base::ErrorCode, base::Result;
using http::Request;
using json::Value;

namespace {

// Locks the object: the server refuses the patch if the UID or the version has changed.
Value LockedMeta(const kube::ObjectMeta& meta) {
  CHECK(!meta.uid.empty() && !meta.resource_version.empty());  // Empty fields lock nothing.
  return Value::Object({{"uid", meta.uid}, {"resourceVersion", meta.resource_version}});
}

// Requests only metadata as reply: a Node has 10 to 20 KB, and a thousand replies are held at once.
Request OfMetadata(Request request) {
  request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  return request;
}

// Returns the JSON pointer of a label or annotation. '/' in a key becomes "~1".
std::string PathOf(const char* kind, std::string_view key) {
  std::string escaped(key);
  escaped.replace(escaped.find('/'), 1, "~1");
  return std::string("/metadata/") + kind + "/" + escaped;
}

Value PatchOf(const char* verb, std::string path, Value value) {
  return Value::Object({{"op", verb}, {"path", std::move(path)}, {"value", std::move(value)}});
}

// Returns whether the reply to a write shows that the object does not exist, so nothing is left to
// change. Then the next pass waits until the cache shows that.
bool TakeAbsence(Kind kind, const kube::ObjectMeta& object, const Reply& reply, ReplyContext& to) {
  if (reply || !kube::ProvesAbsence(reply.error(), ResourceOf(kind), object.key.name)) return false;
  to.result.changed_nothing = true;
  to.result.expectations.push_back({.kind = kind, .key = object.key, .gone = object.uid});
  return true;
}

Result<void> TakeChild(Kind kind, const kube::ObjectMeta& object, const Reply& reply,
                       ReplyContext& to) {
  if (TakeAbsence(kind, object, reply, to)) return {};
  if (!reply) return tl::unexpected(reply.error());
  const NameHolder written = TRY(DecodeHolder(reply->body));
  if (to.observed.evidence.names.contains({kind, object.key})) {
    to.result.findings.emplace_back(NameFound{kind, object.key, Found(written)});
  }
  Expect(to.result, kind, object.key, written.meta.resource_version);
  return {};
}

// Returns whether a test of a JSON patch failed. The API server uses this sentence only for a patch
// that cannot be applied. A webhook that refuses the patched node gives its own reason.
bool SaysThatATestFailed(const base::Error& error) {
  return error.code == ErrorCode::kInvalid &&
         error.message.find("the server rejected our request due to an error in our request") !=
             std::string::npos;
}

// Returns whether no change is needed: a test of the patch failed, or the node is deleted.
bool NeedNotChange(const Reply& reply, const std::string& node) {
  return !reply &&
         (SaysThatATestFailed(reply.error()) || reply.error().cause == kube::kTestFailed ||
          kube::ProvesAbsence(reply.error(), kube::kNodes, node));
}

}  // namespace

Request RequestOf(const Create& create, const Observed& observed) {
  return kube::CreateRequest(ResourceOf(create.kind, observed.facts), create.key.ns, create.object);
}

Result<void> HandleReply(const Create& create, const Reply& reply, ReplyContext& to) {
  const auto name_is = [&](NameCheck check) {
    to.result.findings.emplace_back(NameFound{create.kind, create.key, std::move(check)});
  };
  if (!reply && reply.error().code == ErrorCode::kAlreadyExists) {
    name_is({NameCheck::Is::kTaken});  // Overrides any earlier read.
    to.result.changed_nothing = true;
    to.result.decide_again = create.kind != Kind::kClique;
    return {};
  }
  if (!reply) {
    name_is({NameCheck::Is::kNotAsked});
    return tl::unexpected(reply.error());
  }
  NameHolder holder = TRY(DecodeHolder(reply->body));
  Expect(to.result, create.kind, create.key, holder.meta.resource_version);
  name_is(Found(std::move(holder)));
  return {};
}

Request RequestOf(const Delete& remove, const Observed& observed) {
  CHECK(!remove.uid.empty());
  return kube::DeleteRequest(ResourceOf(remove.kind, observed.facts), remove.key, remove.uid,
                             kube::Propagation::kBackground);
}

Result<void> HandleReply(const Delete& remove, const Reply& reply, ReplyContext& to) {
  if (TakeAbsence(remove.kind, {.key = remove.key, .uid = remove.uid}, reply, to)) return {};
  if (!reply) return tl::unexpected(reply.error());
  to.result.expectations.push_back({.kind = remove.kind, .key = remove.key, .gone = remove.uid});
  return {};
}

Request ReadAfterConflict(const Delete& remove, const Observed& observed) {
  return kube::ListRequest(ResourceOf(remove.kind, observed.facts),
                           {.ns = remove.key.ns,
                            .field_selector = "metadata.name=" + remove.key.name,
                            .metadata_only = true});
}

Result<bool> StillExists(const Delete& remove, std::string_view body) {
  const kube::ListPage list = TRY(kube::ReadListPage(body));
  TRY(CheckList(remove.kind, list, true));
  for (const std::string_view item : list.items) {
    if (TRY(DecodeMetaOf(item)).uid == remove.uid) return true;
  }
  return false;
}

Delete DeleteOf(const ReplaceDaemon& replace) {
  return {.kind = Kind::kDaemonPod, .key = replace.key, .uid = replace.uid};
}

Request RequestOf(const ReplaceDaemon& replace, const Observed& observed) {
  return RequestOf(DeleteOf(replace), observed);
}

Result<void> HandleReply(const ReplaceDaemon& replace, const Reply& reply, ReplyContext& to) {
  return HandleReply(DeleteOf(replace), reply, to);
}

Request RequestOf(const WriteFinalizers& write, const Observed& observed) {
  Value meta = LockedMeta(write.object);
  for (const std::string& name : write.finalizers) meta["finalizers"].Append(name);
  if (write.finalizers.empty()) meta["finalizers"] = Value();
  return kube::MergePatchRequest(ResourceOf(write.kind, observed.facts), write.object.key,
                                 Value::Object({{"metadata", std::move(meta)}}));
}

Result<void> HandleReply(const WriteFinalizers& write, const Reply& reply, ReplyContext& to) {
  // A deleted object needs no release. But a finalizer that could not be added is a failure: no
  // children may follow.
  const bool adds = base::Contains(write.finalizers, api::kFinalizer);
  if (!adds && TakeAbsence(write.kind, write.object, reply, to)) return {};
  if (!reply) return tl::unexpected(reply.error());
  const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
  if (write.kind == Kind::kComputeDomain) to.result.findings.emplace_back(DomainStored{meta});
  Expect(to.result, write.kind, write.object.key, meta.resource_version);
  return {};
}

Request RequestOf(const WriteClique& write, const Observed& /*observed*/) {
  const api::Clique& clique = write.clique;
  Value patch = Value::Object({{"daemons", api::EncodeDaemons(clique.daemons)}});
  Value& meta = patch["metadata"] = LockedMeta(clique.meta);
  meta["annotations"][api::kHeldIndicesAnnotation] = api::EncodeHeld(clique.held);
  meta["annotations"][api::kRebootedAnnotation] = api::EncodeRebooted(clique.rebooted);
  meta["annotations"][api::kJoiningAnnotation] = std::to_string(clique.joining.value_or(0));
  if (!write.owners.IsNull()) meta["ownerReferences"] = write.owners;
  return kube::MergePatchRequest(api::kComputeDomainCliques, clique.meta.key, patch);
}

Result<void> HandleReply(const WriteClique& write, const Reply& reply, ReplyContext& to) {
  if (TakeAbsence(Kind::kClique, write.clique.meta, reply, to)) return {};
  if (!reply) return tl::unexpected(reply.error());
  CliqueStored stored = {.clique = write.clique};
  stored.clique.meta = TRY(DecodeMetaOf(reply->body));
  Expect(to.result, Kind::kClique, write.clique.meta.key, stored.clique.meta.resource_version);
  to.result.findings.emplace_back(std::move(stored));
  return {};
}

Request RequestOf(const WritePodTemplate& write, const Observed& /*observed*/) {
  const kube::ObjectMeta& meta = write.daemon_set;
  CHECK(!meta.resource_version.empty());
  // The server answers with a conflict if the resourceVersion differs.
  return kube::JsonPatchRequest(
      kube::kDaemonSets, meta.key,
      Value::Array(
          {PatchOf("replace", "/metadata/resourceVersion", meta.resource_version),
           PatchOf("replace", "/spec/template", write.pod_template),
           PatchOf("replace", "/spec/updateStrategy", Value::Object({{"type", "OnDelete"}})),
           PatchOf("add", PathOf("annotations", api::kTemplateHashAnnotation), write.stamp)}));
}

Result<void> HandleReply(const WritePodTemplate& write, const Reply& reply, ReplyContext& to) {
  return TakeChild(Kind::kDaemonSet, write.daemon_set, reply, to);
}

Request RequestOf(const WriteIdentity& write, const Observed& observed) {
  Value meta = LockedMeta(write.object);
  meta["labels"] = write.labels;
  if (!write.owners.IsNull()) meta["ownerReferences"] = write.owners;
  return kube::MergePatchRequest(ResourceOf(write.kind, observed.facts), write.object.key,
                                 Value::Object({{"metadata", std::move(meta)}}));
}

Result<void> HandleReply(const WriteIdentity& write, const Reply& reply, ReplyContext& to) {
  return TakeChild(write.kind, write.object, reply, to);
}

Request RequestOf(const RemoveNodeLabel& remove, const Observed& /*observed*/) {
  CHECK(!remove.domain_uid.empty());
  const std::string path = PathOf("labels", api::kDomainLabel);
  Value patch = Value::Array({PatchOf("test", path, remove.domain_uid),
                              Value::Object({{"op", "remove"}, {"path", path}})});
  if (!remove.version.empty()) {
    patch.Append(PatchOf("replace", "/metadata/resourceVersion", remove.version));
  }
  return OfMetadata(kube::JsonPatchRequest(kube::kNodes, {.name = remove.node}, patch));
}

Result<void> HandleReply(const RemoveNodeLabel& remove, const Reply& reply, ReplyContext& to) {
  // The label is removed, or names another domain.
  const bool is_other = NeedNotChange(reply, remove.node);
  if (is_other || (!reply && !reply.error().MayBeDone())) {
    to.result.memory.emplace_back(LabelRestored{.node = remove.node});
    to.result.changed_nothing = is_other;
    return is_other ? Result<void>() : tl::unexpected(reply.error());
  }
  const bool lives = to.observed.domain && !to.observed.domain->meta.deleting;
  if (lives) to.result.findings.emplace_back(ClaimsOutdated());
  if (!reply) return tl::unexpected(reply.error());
  const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
  Expect(to.result, Kind::kNode, {.name = remove.node}, meta.resource_version);
  if (!lives) return {};
  to.result.findings.emplace_back(LabelGone{.node = remove.node});
  to.result.decide_again = true;
  return {};
}

Request RequestOf(const RestoreNodeLabel& restore, const Observed& /*observed*/) {
  const std::string path = PathOf("labels", api::kDomainLabel);
  // For the API server a missing value equals null.
  const Value patch =
      Value::Array({PatchOf("test", path, Value()), PatchOf("add", path, restore.domain_uid)});
  return OfMetadata(kube::JsonPatchRequest(kube::kNodes, {.name = restore.node}, patch));
}

Result<void> HandleReply(const RestoreNodeLabel& restore, const Reply& reply, ReplyContext& to) {
  // By the plugin, or for another domain.
  const bool is_labelled = NeedNotChange(reply, restore.node);
  if (!reply && !is_labelled) return tl::unexpected(reply.error());
  to.result.memory.emplace_back(LabelRestored{.node = restore.node});
  to.result.changed_nothing = is_labelled;
  if (is_labelled) return {};
  const kube::ObjectMeta meta = TRY(DecodeMetaOf(reply->body));
  Expect(to.result, Kind::kNode, {.name = restore.node}, meta.resource_version);
  return {};
}

Request RequestOf(const WriteStatus& write, const Observed& /*observed*/) {
  return kube::MergePatchRequest(
      api::kComputeDomains, write.object.key,
      Value::Object({{"metadata", LockedMeta(write.object)}, {"status", Encode(write.status)}}),
      "status");
}

Result<void> HandleReply(const WriteStatus& write, const Reply& reply, ReplyContext& to) {
  if (!reply) return tl::unexpected(reply.error());
  const json::Document object = TRY(json::ParseRepaired(reply->body));
  const api::ComputeDomain written = TRY(api::DecodeComputeDomain(object));
  // Only this reply shows whether the CRD drops fields that it does not know.
  if (!write.status.conditions.empty()) {
    to.result.findings.emplace_back(StatusPruned{written.status.conditions.empty()});
    to.result.shows_crd = true;
  }
  Expect(to.result, Kind::kComputeDomain, write.object.key, written.meta.resource_version);
  return {};
}

}  // namespace compute_domain

#include "test/simulation/apiserver/object_store.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/known_fields.h"
#include "test/simulation/apiserver/patch.h"

namespace simulation {

namespace {

using json::Value;

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::int64_t kPodGrace = 30;  // Of a pod that does not say.

std::string ReadFile(const std::string& path) {
  const std::ifstream file(path);
  CHECK(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Read once.
const KnownFields& FieldsOfServer() {
  static const KnownFields known(ReadFile(CDOM_FIXTURES "/known_fields.txt"));
  return known;
}

Reply Conflict(const KindInfo& kind, const std::string& name, const std::string& why) {
  return Failed(409, "Conflict",
                "Operation cannot be fulfilled on " + kind.resource.QualifiedName() + " \"" + name +
                    "\": " + why,
                &kind, name);
}

Reply Invalid(const KindInfo& kind, const std::string& name, const std::string& why) {
  return Failed(422, "Invalid", kind.resource.kind + " \"" + name + "\" is invalid: " + why, &kind,
                name);
}

// Sets `to`[name] to `from`[name], or takes it away where there is none.
void CopyMember(const Value& from, Value& to, std::string_view name) {
  if (const Value* member = from.Find(name)) {
    to[name] = *member;
  } else {
    to.Erase(name);
  }
}

// Sets a field that the server fills in where the client left it out.
void SetDefault(Value& object, std::string_view name, Value value) {
  if (object.Find(name) == nullptr) object[name] = std::move(value);
}

// A few of the defaults of built-in kinds, enough for a client that compares whole specs with what
// it had sent to give itself away.
void FillDefaults(const KindInfo& kind, Value& object) {
  if (kind.kind == Kind::kDaemonSet) {
    Value& spec = object["spec"];
    SetDefault(spec, "revisionHistoryLimit", 10);
    Value& pod = spec["template"]["spec"];
    SetDefault(pod, "restartPolicy", "Always");
    SetDefault(pod, "terminationGracePeriodSeconds", kPodGrace);
    SetDefault(pod, "dnsPolicy", "ClusterFirst");
  } else if (kind.kind == Kind::kPod) {
    SetDefault(object["spec"], "terminationGracePeriodSeconds", kPodGrace);
    SetDefault(object["spec"], "restartPolicy", "Always");
  } else if (kind.kind == Kind::kClaim || kind.kind == Kind::kClaimTemplate) {
    Value& spec = kind.kind == Kind::kClaim ? object["spec"] : object["spec"]["spec"];
    for (Value& request : spec["devices"]["requests"].MutableItems()) {
      if (Value* exactly = request.Find("exactly")) {
        SetDefault(*exactly, "allocationMode", "ExactCount");
        SetDefault(*exactly, "count", 1);
      }
    }
  }
}

// The object with its members in the order in which the store keeps them: first what says what it
// is.
Value Arrange(const KindInfo& kind, Value object) {
  const Value::Members& members = object.members();
  const bool is_arranged = members.size() >= 2 && members[0].first == "apiVersion" &&
                           members[1].first == "kind" &&
                           members[0].second.AsString() == kind.resource.ApiVersion() &&
                           members[1].second.AsString() == kind.resource.kind;
  if (is_arranged) return object;
  Value arranged =
      Value::Object({{"apiVersion", kind.resource.ApiVersion()}, {"kind", kind.resource.kind}});
  Value& metadata = arranged["metadata"];
  metadata.MutableMembers();
  for (const char* name : {"name", "namespace", "uid", "resourceVersion"}) {
    if (const Value* member = object["metadata"].Find(name)) metadata[name] = *member;
  }
  for (auto& [name, value] : object["metadata"].MutableMembers()) {
    if (metadata.Find(name) == nullptr) metadata[name] = std::move(value);
  }
  for (auto& [name, value] : object.MutableMembers()) {
    if (arranged.Find(name) == nullptr) arranged[name] = std::move(value);
  }
  return arranged;
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsLabelValue(const std::string& text) {
  if (text.empty()) return true;
  return text.size() <= 63 && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// DNS-1123 subdomain, as the names of all kinds here must be.
bool IsName(const std::string& text) {
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253 || !is_lower(text.front()) || !is_lower(text.back())) {
    return false;
  }
  return std::ranges::all_of(text, [&](char c) { return is_lower(c) || c == '-' || c == '.'; }) &&
         text.find("..") == std::string::npos && text.find(".-") == std::string::npos &&
         text.find("-.") == std::string::npos;
}

// "prefix/name", of which the prefix may be missing and is a name in lower case once it is made so.
bool IsAnnotationKey(const std::string& key) {
  const std::size_t slash = key.find('/');
  const std::string name = slash == std::string::npos ? key : key.substr(slash + 1);
  if (name.empty() || !IsLabelValue(name)) return false;
  if (slash == std::string::npos) return true;
  std::string prefix = key.substr(0, slash);
  std::ranges::transform(prefix, prefix.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return IsName(prefix);
}

std::string CheckAnnotations(const Value& annotations) {
  constexpr std::size_t kBytesMax = 256 * 1024;  // Of keys and values together.
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations.members()) {
    if (!IsAnnotationKey(key)) return "metadata.annotations: Invalid value: \"" + key + "\"";
    bytes += key.size() + value.AsString().size();
  }
  return bytes <= kBytesMax ? ""
                            : "metadata.annotations: Too long: may not be more than 262144 bytes";
}

std::string CheckMeta(const Value& metadata) {
  if (std::string wrong = CheckAnnotations(metadata["annotations"]); !wrong.empty()) return wrong;
  for (const auto& [name, value] : metadata["labels"].members()) {
    if (!IsLabelValue(value.AsString())) {
      return "metadata.labels: Invalid value: \"" + value.AsString() + "\"";
    }
  }
  int controllers = 0;
  for (const Value& owner : metadata["ownerReferences"].items()) {
    for (const char* name : {"apiVersion", "kind", "name", "uid"}) {
      if (owner[name].AsString().empty()) {
        return std::string("metadata.ownerReferences.") + name + ": must not be empty";
      }
    }
    controllers += owner["controller"].AsBool() ? 1 : 0;
  }
  if (controllers > 1) return "metadata.ownerReferences: Only one reference can have Controller";
  for (const Value& finalizer : metadata["finalizers"].items()) {
    const std::string& name = finalizer.AsString();
    if (name.find('/') == std::string::npos && name != kForeground && name != kOrphan) {
      return "metadata.finalizers: name is neither a standard finalizer name nor is it fully "
             "qualified: \"" +
             name + "\"";
    }
  }
  return {};
}

bool Contains(const Value& list, const Value& item) {
  return std::ranges::find(list.items(), item) != list.items().end();
}

std::string CheckMetaUpdate(const Value& metadata, const Value& old) {
  if (metadata["uid"] != old["uid"]) {
    return "metadata.uid: Invalid value: \"" + metadata["uid"].AsString() +
           "\": field is immutable";
  }
  if (old.Find("deletionTimestamp") == nullptr) return {};
  for (const Value& finalizer : metadata["finalizers"].items()) {
    if (!Contains(old["finalizers"], finalizer)) {
      return "metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
             "being "
             "deleted, found new finalizers [\"" +
             finalizer.AsString() + "\"]";
    }
  }
  return {};
}

// What a client cannot change however it tries.
void KeepSystemFields(const Value& old, Value& metadata) {
  for (const char* name :
       {"name", "namespace", "creationTimestamp", "deletionTimestamp", "generation"}) {
    CopyMember(old, metadata, name);
  }
  if (metadata["deletionGracePeriodSeconds"].IsNull()) {
    CopyMember(old, metadata, "deletionGracePeriodSeconds");
  }
  if (metadata["uid"].AsString().empty()) metadata["uid"] = old["uid"];
  if (metadata["finalizers"].items().empty()) metadata.Erase("finalizers");
  if (metadata["ownerReferences"].items().empty()) metadata.Erase("ownerReferences");
  if (metadata["labels"].members().empty()) metadata.Erase("labels");
  if (metadata["annotations"].members().empty()) metadata.Erase("annotations");
}

// What a write to this subresource makes of `object`; the rest is as it was.
Value Isolate(const KindInfo& kind, const Value& old, Value object, Subresource subresource) {
  if (subresource == Subresource::kNone) {
    if (kind.has_status) CopyMember(old, object, "status");
    return object;
  }
  const bool lets_labels_through = kind.kind == Kind::kPod || kind.kind == Kind::kNode;
  const Value given = lets_labels_through ? object["metadata"] : Value();
  std::erase_if(object.MutableMembers(), [&](const Value::Member& member) {
    return member.first != "status" && old.Find(member.first) == nullptr;
  });
  for (const auto& [name, value] : old.members()) {
    // Most often it is the same, and then it need not be copied.
    if (name != "status" && !SameValue(object[name], value)) object[name] = value;
  }
  if (lets_labels_through) {
    CopyMember(given, object["metadata"], "labels");
    CopyMember(given, object["metadata"], "annotations");
  }
  return object;
}

// Whether what is desired changed, which the generation counts.
bool IsNewGeneration(const KindInfo& kind, const Value& old, const Value& object) {
  if (!kind.has_generation) return false;
  if (!kind.custom) return !SameValue(object["spec"], old["spec"]);
  for (const Value* side : {&old, &object}) {
    for (const auto& [name, value] : side->members()) {
      const bool counts = name != "metadata" && !(name == "status" && kind.has_status);
      if (counts && !SameValue(object[name], old[name])) return true;
    }
  }
  return false;
}

std::int64_t GraceOf(const Value& metadata) {
  return metadata["deletionGracePeriodSeconds"].AsInt().value_or(0);
}

// The grace that a deletion gives `pod`.
std::int64_t PodGrace(const Object& pod, const DeleteOptions& options) {
  const std::string& phase = pod["status"]["phase"].AsString();
  const bool runs =
      !pod["spec"]["nodeName"].AsString().empty() && phase != "Succeeded" && phase != "Failed";
  if (!runs) return 0;
  return options.grace.value_or(
      pod["spec"]["terminationGracePeriodSeconds"].AsInt().value_or(kPodGrace));
}

// The finalizers that a deletion with this propagation leaves; nothing if it changes none.
std::optional<Value> FinalizersFor(const Object& object, const std::string& propagation) {
  const Value& before = object.meta()["finalizers"];
  if (propagation.empty()) return std::nullopt;
  Value after = Value::Array();
  for (const Value& finalizer : before.items()) {
    const std::string& name = finalizer.AsString();
    if (name != kForeground && name != kOrphan) after.Append(finalizer);
  }
  if (propagation == "Foreground") after.Append(kForeground);
  if (propagation == "Orphan") after.Append(kOrphan);
  if (after.items() == before.items()) return std::nullopt;
  return after;
}

void SetFinalizers(Value& metadata, Value finalizers) {
  if (finalizers.items().empty()) {
    metadata.Erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(finalizers);
  }
}

// Marks `object` for deletion, as the registry does.
void Mark(Value& object, Time when, std::int64_t grace) {
  Value& metadata = object["metadata"];
  const auto generation = metadata["generation"].AsInt();
  const bool is_first = metadata.Find("deletionTimestamp") == nullptr;
  if (is_first && generation) metadata["generation"] = *generation + 1;
  if (is_first || GraceOf(metadata) != grace) {
    metadata["deletionTimestamp"] = base::FormatSeconds(when);
  }
  metadata["deletionGracePeriodSeconds"] = grace;
}

}  // namespace

Reply Failed(int code, std::string_view reason, const std::string& message, const KindInfo* kind,
             const std::string& name) {
  Value status = Value::Object({{"kind", "Status"},
                                {"apiVersion", "v1"},
                                {"metadata", Value::Object()},
                                {"status", "Failure"},
                                {"message", message},
                                {"reason", reason}});
  if (kind != nullptr) {
    status["details"] = Value::Object({{"name", name}, {"kind", kind->resource.plural}});
    if (!kind->resource.group.empty()) status["details"]["group"] = kind->resource.group;
  }
  status["code"] = code;
  return {.code = code, .status = std::move(status)};
}

const CustomSchemas& CustomSchemas::Shipped() {
  static const CustomSchemas schemas(ReadFile(CDOM_CRDS "/computedomains.yaml"),
                                     ReadFile(CDOM_CRDS "/computedomaincliques.yaml"));
  return schemas;
}

CustomSchemas::CustomSchemas(const std::string& compute_domains, const std::string& cliques)
    : compute_domains_(Schema::FromCrd(compute_domains)), cliques_(Schema::FromCrd(cliques)) {}

const Schema& CustomSchemas::Of(Kind kind) const {
  return kind == Kind::kComputeDomain ? compute_domains_ : cliques_;
}

ObjectStore::ObjectStore(Revision start, const CustomSchemas& schemas)
    : schemas_(schemas), history_(start) {
  served_.fill(true);
}

void ObjectStore::SetTime(Time now) {
  CHECK(now >= now_);
  now_ = now;
}

std::optional<Reply> ObjectStore::Refuse(const std::string& actor, const KindInfo& kind,
                                         const kube::ObjectKey& key, Subresource subresource,
                                         const Value& before, const Value& after) const {
  const std::string why = objects_ ? objects_({.actor = actor,
                                               .kind = kind,
                                               .key = key,
                                               .subresource = subresource,
                                               .before = before,
                                               .after = after})
                                   : "";
  if (why.empty()) return {};
  return Failed(403, "Forbidden",
                kind.resource.QualifiedName() + " \"" + key.name + "\" is forbidden: " + why);
}

Reply ObjectStore::NotFound(Kind kind, const std::string& name) {
  const KindInfo& info = Describe(kind);
  return Failed(404, "NotFound", info.resource.QualifiedName() + " \"" + name + "\" not found",
                &info, name);
}

// Counted, and told apart by their first digits.
kube::Uid ObjectStore::NextUid() {
  ++uids_;
  char text[48];
  std::snprintf(text, sizeof text, "%08llx-cd0a-4000-8000-%012llx",
                static_cast<unsigned long long>(uids_ * 0x9E37'79B1ULL & 0xFFFF'FFFFULL),
                static_cast<unsigned long long>(uids_));
  return text;
}

// Five characters of the alphabet that generated names use, counted.
std::string ObjectStore::NextSuffix() {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t number = suffixes_++;
  std::string suffix(5, kAlphabet.front());
  for (char& c : suffix) {
    c = kAlphabet[number % kAlphabet.size()];
    number /= kAlphabet.size();
  }
  return suffix;
}

std::optional<Reply> ObjectStore::CheckNamespace(const KindInfo& kind, const std::string& ns,
                                                 const Value& object) const {
  const std::string& given = object["metadata"]["namespace"].AsString();
  if (!given.empty() && given != ns) {
    return Failed(400, "BadRequest",
                  "the namespace of the provided object does not match the namespace sent on the "
                  "request");
  }
  if (!kind.resource.namespaced) return std::nullopt;
  const ObjectPtr found = Get(Kind::kNamespace, {.name = ns});
  if (!found) return NotFound(Kind::kNamespace, ns);
  if (!found->deleting()) return std::nullopt;
  const std::string name = object["metadata"]["name"].AsString();
  Reply reply = Failed(403, "Forbidden",
                       kind.resource.QualifiedName() + " \"" + name +
                           "\" is forbidden: unable to create new content in namespace " + ns +
                           " because it is being terminated",
                       &kind, name);
  reply.status["details"]["causes"] =
      Value::Array({Value::Object({{"reason", "NamespaceTerminating"}})});
  return reply;
}

// What is wrong with `object`, or nothing.
std::string ObjectStore::CheckObject(const KindInfo& kind, const Value& object,
                                     const Value* old) const {
  if (std::string wrong = CheckMeta(object["metadata"]); !wrong.empty()) return wrong;
  if (old != nullptr) {
    if (std::string wrong = CheckMetaUpdate(object["metadata"], (*old)["metadata"]);
        !wrong.empty()) {
      return wrong;
    }
    for (const std::vector<std::string>& path : kind.immutable) {
      const Value* before = old;
      const Value* after = &object;
      for (const std::string& name : path) {
        before = &(*before)[name];
        after = &(*after)[name];
      }
      if (!SameValue(*before, *after)) return path.back() + ": Invalid value: field is immutable";
    }
  }
  if (kind.kind == Kind::kDaemonSet) {
    for (const auto& [name, value] : At(object, {"spec", "selector", "matchLabels"}).members()) {
      if (At(object, {"spec", "template", "metadata", "labels"})[name] != value) {
        return "spec.template.metadata.labels: Invalid value: `selector` does not match template "
               "`labels`";
      }
    }
  }
  if (!kind.custom) return {};
  const std::vector<std::string> errors = schemas_.Of(kind.kind).Validate(object, old);
  return errors.empty() ? std::string() : errors.front();
}

Reply ObjectStore::Create(const std::string& actor, Kind of_kind, const std::string& ns,
                          Value object) {
  const KindInfo& kind = Describe(of_kind);
  if (!IsServed(of_kind)) return Failed(404, "NotFound", "404 page not found");
  Value& metadata = object["metadata"];
  std::string name = metadata["name"].AsString();
  if (name.empty() && !metadata["generateName"].AsString().empty()) {
    name = metadata["generateName"].AsString() + NextSuffix();
    metadata["name"] = name;
  }
  if (auto refusal = CheckNamespace(kind, ns, object)) return *std::move(refusal);
  if (!metadata["resourceVersion"].AsString().empty()) {
    return Failed(500, "InternalError",
                  "resourceVersion should not be set on objects to be created");
  }
  for (const char* given : {"uid", "resourceVersion", "deletionTimestamp", "creationTimestamp",
                            "deletionGracePeriodSeconds", "generation", "managedFields"}) {
    metadata.Erase(given);
  }
  if (kind.resource.namespaced) metadata["namespace"] = ns;
  metadata["uid"] = NextUid();
  if (kind.has_generation) metadata["generation"] = 1;
  metadata["creationTimestamp"] = base::FormatSeconds(now_);
  // A kubelet that registers its node brings the node's status with it.
  if (kind.has_status && of_kind != Kind::kNode) object.Erase("status");
  if (of_kind == Kind::kPod) object["status"] = Value::Object({{"phase", "Pending"}});
  if (of_kind == Kind::kNamespace) object["status"] = Value::Object({{"phase", "Active"}});
  if (!kind.custom) FieldsOfServer().DropUnknown(of_kind, object);
  FillDefaults(kind, object);
  object = Arrange(kind, std::move(object));
  if (kind.custom) schemas_.Of(of_kind).Complete(object);
  if (!IsName(name)) {
    return Invalid(kind, name, "metadata.name: Invalid value: \"" + name + "\"");
  }
  if (const std::string wrong = CheckObject(kind, object, nullptr); !wrong.empty()) {
    return Invalid(kind, name, wrong);
  }
  const kube::ObjectKey key = {.ns = kind.resource.namespaced ? ns : "", .name = name};
  if (auto refusal = Refuse(actor, kind, key, Subresource::kNone, {}, object)) {
    return *std::move(refusal);
  }
  if (const ObjectPtr found = Get(of_kind, key)) {
    return Failed(409, "AlreadyExists",
                  (found->deleting() ? "object is being deleted: " : "") +
                      kind.resource.QualifiedName() + " \"" + name + "\" already exists",
                  &kind, name);
  }
  return {.code = 201, .object = history_.Put(of_kind, std::move(object), actor, now_)};
}

Reply ObjectStore::Update(const std::string& actor, Kind of_kind, const kube::ObjectKey& key,
                          Value object, Subresource subresource) {
  const KindInfo& kind = Describe(of_kind);
  const bool has_subresource = subresource == Subresource::kNone || kind.has_status;
  if (!IsServed(of_kind) || !has_subresource) return Failed(404, "NotFound", "404 page not found");
  Value& metadata = object["metadata"];
  if (metadata["name"].AsString() != key.name) {
    return Failed(400, "BadRequest",
                  "the name of the object (" + metadata["name"].AsString() +
                      ") does not match the name on the URL (" + key.name + ")");
  }
  const ObjectPtr existing = Get(of_kind, key);
  if (!existing) {
    if (!kind.create_on_update || subresource != Subresource::kNone) {
      return NotFound(of_kind, key.name);
    }
    if (!metadata["uid"].AsString().empty()) {
      return Conflict(kind, key.name,
                      "Precondition failed: UID in precondition: " + metadata["uid"].AsString() +
                          ", UID in object meta: ");
    }
    metadata.Erase("resourceVersion");
    return Create(actor, of_kind, key.ns, std::move(object));
  }
  const std::string& uid = metadata["uid"].AsString();
  if (!uid.empty() && uid != existing->uid()) {
    return Conflict(kind, key.name,
                    "Precondition failed: UID in precondition: " + uid +
                        ", UID in object meta: " + existing->uid());
  }
  return Write(actor, kind, existing, std::move(object), subresource);
}

Reply ObjectStore::Patch(const std::string& actor, Kind of_kind, const kube::ObjectKey& key,
                         PatchType type, const Value& patch, Subresource subresource) {
  const KindInfo& kind = Describe(of_kind);
  const bool has_subresource = subresource == Subresource::kNone || kind.has_status;
  if (!IsServed(of_kind) || !has_subresource) return Failed(404, "NotFound", "404 page not found");
  const ObjectPtr existing = Get(of_kind, key);
  if (!existing) return NotFound(of_kind, key.name);
  Value object;
  if (type == PatchType::kMerge) {
    if (!patch.IsObject()) return Failed(400, "BadRequest", "Invalid JSON Patch");
    object = MergePatch(existing->value(), patch);
  } else {
    base::Result<Value> patched = JsonPatch(existing->value(), patch);
    if (!patched) {
      Reply reply =
          Failed(422, "Invalid", "the server rejected our request due to an error in our request");
      reply.status["details"] = Value::Object(
          {{"causes", Value::Array({Value::Object({{"reason", "UnexpectedServerResponse"},
                                                   {"message", patched.error().message}})})}});
      return reply;
    }
    object = *std::move(patched);
  }
  if (object["metadata"]["name"].AsString() != key.name) {
    return Failed(400, "BadRequest", "the name of the object does not match the name on the URL");
  }
  return Write(actor, kind, existing, std::move(object), subresource);
}

// The common end of PUT and PATCH.
Reply ObjectStore::Write(const std::string& actor, const KindInfo& kind, const ObjectPtr& existing,
                         Value object, Subresource subresource) {
  const std::string& name = existing->key().name;
  const Value& old = existing->value();
  const std::string& version = object["metadata"]["resourceVersion"].AsString();
  if (version.empty() && !kind.unconditional_update) {
    return Invalid(kind, name,
                   "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update");
  }
  if (!version.empty() && version != existing->meta()["resourceVersion"].AsString()) {
    return Conflict(kind, name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  }
  object = Isolate(kind, old, std::move(object), subresource);
  Value& metadata = object["metadata"];
  KeepSystemFields(existing->meta(), metadata);
  metadata["resourceVersion"] = existing->meta()["resourceVersion"];
  if (kind.custom) {
    object = Arrange(kind, std::move(object));
    schemas_.Of(kind.kind).Complete(object);
  } else {
    object["apiVersion"] = kind.resource.ApiVersion();
    object["kind"] = kind.resource.kind;
    FieldsOfServer().DropUnknown(kind.kind, object);
    FillDefaults(kind, object);
    object = Arrange(kind, std::move(object));
  }
  if (IsNewGeneration(kind, old, object)) {
    object["metadata"]["generation"] = existing->meta()["generation"].AsInt().value_or(0) + 1;
  }
  if (const std::string wrong = CheckObject(kind, object, &old); !wrong.empty()) {
    return Invalid(kind, name, wrong);
  }
  if (auto refusal = Refuse(actor, kind, existing->key(), subresource, old, object)) {
    return *std::move(refusal);
  }
  const bool ends = existing->deleting() && object["metadata"].Find("finalizers") == nullptr &&
                    GraceOf(existing->meta()) == 0;
  if (ends) {
    // The write itself is never stored: watchers see the object go as it was before.
    history_.Remove(kind.kind, existing->key(), actor, now_);
    return {.object = std::make_shared<const Object>(std::move(object))};
  }
  if (SameValue(object, old)) return {.object = existing};
  return {.object = history_.Put(kind.kind, std::move(object), actor, now_)};
}

Reply ObjectStore::Delete(const std::string& actor, Kind of_kind, const kube::ObjectKey& key,
                          const DeleteOptions& options) {
  const KindInfo& kind = Describe(of_kind);
  if (!IsServed(of_kind)) return Failed(404, "NotFound", "404 page not found");
  const ObjectPtr object = Get(of_kind, key);
  if (!object) return NotFound(of_kind, key.name);
  if (!options.uid.empty() && options.uid != object->uid()) {
    return Conflict(kind, key.name,
                    "the UID in the precondition (" + options.uid +
                        ") does not match the UID in record (" + object->uid() +
                        "). The object might have been deleted and then recreated");
  }
  const std::string& version = object->meta()["resourceVersion"].AsString();
  if (!options.resource_version.empty() && options.resource_version != version) {
    return Conflict(kind, key.name,
                    "the ResourceVersion in the precondition (" + options.resource_version +
                        ") does not match the ResourceVersion in record (" + version +
                        "). The object might have been modified");
  }
  if (auto refusal = Refuse(actor, kind, key, Subresource::kNone, object->value(), {})) {
    return *std::move(refusal);
  }
  std::optional<Value> finalizers = FinalizersFor(*object, options.propagation);
  if (of_kind == Kind::kPod) {
    std::int64_t grace = object->deleting() ? options.grace.value_or(GraceOf(object->meta()))
                                            : PodGrace(*object, options);
    const bool is_pending = object->deleting() && GraceOf(object->meta()) > 0;
    if (is_pending && grace >= GraceOf(object->meta())) return {.object = object};
    return DeleteGracefully(actor, kind, object, grace, std::move(finalizers));
  }
  const Value& left = finalizers ? *finalizers : object->meta()["finalizers"];
  if (left.items().empty()) return Remove(actor, kind, object);
  Value marked = object->value();
  if (finalizers) SetFinalizers(marked["metadata"], *std::move(finalizers));
  Mark(marked, now_, 0);
  if (SameValue(marked, object->value())) return {.object = object};
  return {.object = history_.Put(of_kind, std::move(marked), actor, now_)};
}

Reply ObjectStore::DeleteGracefully(const std::string& actor, const KindInfo& kind,
                                    const ObjectPtr& object, std::int64_t grace,
                                    std::optional<Value> finalizers) {
  Value marked = object->value();
  if (finalizers) SetFinalizers(marked["metadata"], *std::move(finalizers));
  Mark(marked, now_ + std::chrono::seconds(grace), grace);
  ObjectPtr last = object;
  // Also without grace the mark is stored first, and watchers see it.
  if (!SameValue(marked, object->value())) {
    last = history_.Put(kind.kind, std::move(marked), actor, now_);
  }
  const bool stays = grace > 0 || last->meta().Find("finalizers") != nullptr;
  return stays ? Reply{.object = last} : Remove(actor, kind, last);
}

Reply ObjectStore::Remove(const std::string& actor, const KindInfo& kind, const ObjectPtr& object) {
  history_.Remove(kind.kind, object->key(), actor, now_);
  Value details = Value::Object(
      {{"name", object->key().name}, {"kind", kind.resource.plural}, {"uid", object->uid()}});
  if (!kind.resource.group.empty()) details["group"] = kind.resource.group;
  return {.object = object,
          .status = Value::Object({{"kind", "Status"},
                                   {"apiVersion", "v1"},
                                   {"metadata", Value::Object()},
                                   {"status", "Success"},
                                   {"details", std::move(details)}})};
}

Reply ObjectStore::Bind(const std::string& actor, const kube::ObjectKey& pod,
                        const std::string& node) {
  const ObjectPtr existing = Get(Kind::kPod, pod);
  if (!existing) return NotFound(Kind::kPod, pod.name);
  if (existing->deleting() || !existing->value()["spec"]["nodeName"].AsString().empty()) {
    return Conflict(Describe(Kind::kPod), pod.name, "pod is already assigned to a node");
  }
  Value bound = existing->value();
  bound["spec"]["nodeName"] = node;
  return {.code = 201, .object = history_.Put(Kind::kPod, std::move(bound), actor, now_)};
}

}  // namespace simulation

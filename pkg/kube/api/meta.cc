#include "pkg/kube/api/meta.h"

#include <algorithm>

namespace kube {

namespace {

OwnerReference DecodeOwner(json::View owner) {
  return {.api_version = std::string(owner["apiVersion"].AsString()),
          .kind = std::string(owner["kind"].AsString()),
          .name = std::string(owner["name"].AsString()),
          .uid = std::string(owner["uid"].AsString()),
          .controller = owner["controller"].AsBool()};
}

}  // namespace

std::string ToString(const ObjectKey& key) {
  return key.ns.empty() ? key.name : key.ns + "/" + key.name;
}

const OwnerReference* ObjectMeta::ControllerOwner() const {
  const auto it = std::ranges::find_if(owners, &OwnerReference::controller);
  return it == owners.end() ? nullptr : &*it;
}

bool ObjectMeta::HasFinalizer(std::string_view name) const {
  return std::ranges::find(finalizers, name) != finalizers.end();
}

base::Result<ObjectMeta> DecodeMeta(json::View object) {
  const json::View metadata = object["metadata"];
  const auto text = [&](std::string_view name) { return std::string(metadata[name].AsString()); };

  ObjectMeta meta;
  meta.key = {.ns = text("namespace"), .name = text("name")};
  meta.uid = text("uid");
  meta.resource_version = text("resourceVersion");
  for (const auto& [value, name] : {std::pair{&meta.key.name, "name"}, std::pair{&meta.uid, "uid"},
                                    std::pair{&meta.resource_version, "resourceVersion"}}) {
    if (value->empty()) return base::Invalid(std::string("metadata has no ") + name);
  }
  meta.generation = metadata["generation"].AsInt().value_or(0);
  meta.deletion_timestamp = text("deletionTimestamp");
  meta.deleting = !meta.deletion_timestamp.empty();
  meta.creation_timestamp = text("creationTimestamp");
  metadata["finalizers"].ForEach(
      [&](json::View name) { meta.finalizers.emplace_back(name.AsString()); });
  metadata["ownerReferences"].ForEach(
      [&](json::View owner) { meta.owners.push_back(DecodeOwner(owner)); });
  return meta;
}

void KeepFew(std::string_view ours, ObjectMeta& meta, std::string_view many) {
  constexpr std::size_t kOthersMax = 8;
  constexpr std::size_t kManyMax = 1000;
  constexpr std::size_t kTextMax = 253;
  const std::size_t size = meta.finalizers.size() + meta.owners.size();
  std::size_t others = 0;
  std::erase_if(meta.finalizers,
                [&](const std::string& name) { return name != ours && ++others > kOthersMax; });
  others = 0;
  std::size_t of_kind = 0;
  std::erase_if(meta.owners, [&](const OwnerReference& owner) {
    if (owner.controller) return false;
    const bool is_of_kind = !many.empty() && owner.kind == many;
    return is_of_kind ? ++of_kind > kManyMax : ++others > kOthersMax;
  });
  if (meta.finalizers.size() + meta.owners.size() != size) meta.is_whole = false;
  const auto cut = [&](std::string& text) {
    if (text.size() <= kTextMax) return;
    text.resize(kTextMax);
    text.shrink_to_fit();
    meta.is_whole = false;
  };
  for (std::string& name : meta.finalizers) cut(name);
  for (OwnerReference& owner : meta.owners) {
    for (std::string* text : {&owner.api_version, &owner.kind, &owner.name, &owner.uid}) cut(*text);
  }
  meta.finalizers.shrink_to_fit();
  meta.owners.shrink_to_fit();
}

Condition DecodeCondition(json::View condition) {
  return {.type = std::string(condition["type"].AsString()),
          .status = std::string(condition["status"].AsString()),
          .reason = std::string(condition["reason"].AsString()),
          .message = std::string(condition["message"].AsString()),
          .observed_generation = condition["observedGeneration"].AsInt().value_or(0),
          .last_transition_time = std::string(condition["lastTransitionTime"].AsString())};
}

json::Value Encode(const Condition& condition) {
  json::Value value = json::Value::Object({{"type", condition.type},
                                           {"status", condition.status},
                                           {"reason", condition.reason},
                                           {"message", condition.message},
                                           {"lastTransitionTime", condition.last_transition_time}});
  // Absent means unknown. The API server omits a zero, too.
  if (condition.observed_generation != 0) {
    value["observedGeneration"] = condition.observed_generation;
  }
  return value;
}

bool IsWellFormedVersion(std::string_view version) {
  constexpr std::size_t kDigitsMax = 39;  // 2^128 - 1 has 39.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !version.empty() && version.size() <= kDigitsMax && version.front() != '0' &&
         std::ranges::all_of(version, is_digit);
}

bool IsOlder(std::string_view a, std::string_view b) {
  if (!IsWellFormedVersion(a) || !IsWellFormedVersion(b)) return false;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace kube

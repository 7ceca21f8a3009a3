#include "test/simulation/apiserver/object.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "pkg/base/check.h"

namespace simulation {

namespace {

const json::Value kNull;
const std::string kNoText;

}  // namespace

Object::Object(json::Value value) : value_(std::move(value)) {
  const json::Value& metadata = meta();
  key_ = {.ns = metadata["namespace"].AsString(), .name = metadata["name"].AsString()};
  uid_ = metadata["uid"].AsString();
  const std::string& version = metadata["resourceVersion"].AsString();
  std::from_chars(version.data(), version.data() + version.size(), revision_);
  deleting_ = metadata.Find("deletionTimestamp") != nullptr;
  CHECK(!key_.name.empty());
  CHECK(!uid_.empty());
  CHECK(revision_ > 0);
}

const std::string* Object::FindLabel(std::string_view name) const {
  const json::Value* label = meta()["labels"].Find(name);
  return label == nullptr ? nullptr : &label->AsString();
}

const std::string& Object::Label(std::string_view name) const {
  const std::string* label = FindLabel(name);
  return label == nullptr ? kNoText : *label;
}

bool Object::HasFinalizer(std::string_view name) const {
  return std::ranges::any_of(meta()["finalizers"].items(),
                             [&](const json::Value& item) { return item.AsString() == name; });
}

const json::Value& Object::ControllerOwner() const {
  for (const json::Value& owner : meta()["ownerReferences"].items()) {
    if (owner["controller"].AsBool()) return owner;
  }
  return kNull;
}

const std::string& Object::text() const {
  if (text_.empty()) text_ = json::Serialize(value_);
  return text_;
}

bool SameValue(const json::Value& a, const json::Value& b) {
  if (a.IsObject() && b.IsObject()) {
    if (a.members().size() != b.members().size()) return false;
    for (std::size_t i = 0; i < a.members().size(); ++i) {
      const auto& [name, value] = a.members()[i];
      const json::Value::Member& same_place = b.members()[i];
      const json::Value* other = same_place.first == name ? &same_place.second : b.Find(name);
      if (other == nullptr || !SameValue(value, *other)) return false;
    }
    return true;
  }
  if (a.IsArray() && b.IsArray()) return std::ranges::equal(a.items(), b.items(), SameValue);
  return a == b;
}

const json::Value& At(const json::Value& value, std::initializer_list<std::string_view> path) {
  const json::Value* at = &value;
  for (const std::string_view name : path) {
    at = at->Find(name);
    if (at == nullptr) return kNull;
  }
  return *at;
}

const json::Value& FindCondition(const json::Value& object, std::string_view type) {
  for (const json::Value& condition : object["status"]["conditions"].items()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return kNull;
}

}  // namespace simulation

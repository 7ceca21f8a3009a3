#include "test/simulation/apiserver/patch.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/number.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

// The unescaped segments of a JSON pointer; nothing if it is none.
std::optional<std::vector<std::string>> ParsePointer(std::string_view pointer) {
  if (pointer.empty()) return std::vector<std::string>();
  if (pointer.front() != '/') return std::nullopt;
  std::vector<std::string> segments;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      segments.emplace_back();
    } else if (pointer[i] == '~') {
      if (++i == pointer.size() || (pointer[i] != '0' && pointer[i] != '1')) return std::nullopt;
      segments.back() += pointer[i] == '0' ? '~' : '/';
    } else {
      segments.back() += pointer[i];
    }
  }
  return segments;
}

// The place that `segment` names in an array of `size` items, at most `most`.
std::optional<std::size_t> ParseIndex(std::string_view segment, std::size_t most) {
  const auto index = base::ParseNumber<std::size_t>(segment);
  return index && *index <= most ? index : std::nullopt;
}

json::Value* Child(json::Value& parent, const std::string& segment) {
  if (parent.IsObject()) return parent.Find(segment);
  if (!parent.IsArray() || parent.items().empty()) return nullptr;
  const auto index = ParseIndex(segment, parent.items().size() - 1);
  return index ? &parent.MutableItems()[*index] : nullptr;
}

// One operation: what it acts on is the last segment within `parent`.
struct Place {
  json::Value* parent = nullptr;
  std::string segment = {};
};

Result<Place> FindPlace(json::Value& document, const std::string& pointer) {
  auto segments = ParsePointer(pointer);
  if (!segments || segments->empty()) {
    return Fail(ErrorCode::kInvalid, "the path \"" + pointer + "\" is not supported");
  }
  Place place = {.parent = &document, .segment = std::move(segments->back())};
  segments->pop_back();
  for (const std::string& segment : *segments) {
    place.parent = Child(*place.parent, segment);
    if (place.parent == nullptr) return Fail(ErrorCode::kInvalid, "no parent of " + pointer);
  }
  return place;
}

Result<json::Value> Get(json::Value& document, const std::string& pointer) {
  const Place place = TRY(FindPlace(document, pointer));
  const json::Value* found = Child(*place.parent, place.segment);
  if (found == nullptr) return Fail(ErrorCode::kInvalid, "nothing at " + pointer);
  return *found;
}

Result<void> Add(json::Value& document, const std::string& pointer, json::Value value) {
  const Place place = TRY(FindPlace(document, pointer));
  if (place.parent->IsObject()) {
    (*place.parent)[place.segment] = std::move(value);
    return {};
  }
  if (!place.parent->IsArray()) return Fail(ErrorCode::kInvalid, "no parent of " + pointer);
  json::Value::Items& items = place.parent->MutableItems();
  const auto index = place.segment == "-" ? items.size() : ParseIndex(place.segment, items.size());
  if (!index) return Fail(ErrorCode::kInvalid, "no such index in " + pointer);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return {};
}

Result<void> Remove(json::Value& document, const std::string& pointer) {
  const Place place = TRY(FindPlace(document, pointer));
  if (Child(*place.parent, place.segment) == nullptr) {
    return Fail(ErrorCode::kInvalid, "nothing to remove at " + pointer);
  }
  if (place.parent->IsObject()) {
    place.parent->Erase(place.segment);
    return {};
  }
  json::Value::Items& items = place.parent->MutableItems();
  const auto index = ParseIndex(place.segment, items.size() - 1);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(*index));
  return {};
}

Result<void> Replace(json::Value& document, const std::string& pointer, json::Value value) {
  const Place place = TRY(FindPlace(document, pointer));
  json::Value* found = Child(*place.parent, place.segment);
  if (found == nullptr) return Fail(ErrorCode::kInvalid, "nothing to replace at " + pointer);
  *found = std::move(value);
  return {};
}

Result<void> Test(json::Value& document, const std::string& pointer, const json::Value& value) {
  const Place place = TRY(FindPlace(document, pointer));
  const json::Value* found = Child(*place.parent, place.segment);
  const bool equal = found == nullptr ? value.IsNull() : SameValue(*found, value);
  if (!equal) return Fail(ErrorCode::kInvalid, "testing value " + pointer + " failed");
  return {};
}

Result<void> ApplyOne(json::Value& document, const json::Value& operation) {
  const std::string& op = operation["op"].AsString();
  const std::string& path = operation["path"].AsString();
  if (op == "add") return Add(document, path, operation["value"]);
  if (op == "remove") return Remove(document, path);
  if (op == "replace") return Replace(document, path, operation["value"]);
  if (op == "test") return Test(document, path, operation["value"]);
  if (op == "copy" || op == "move") {
    const std::string& from = operation["from"].AsString();
    json::Value value = TRY(Get(document, from));
    if (op == "move") TRY(Remove(document, from));
    return Add(document, path, std::move(value));
  }
  return Fail(ErrorCode::kInvalid, "unexpected operation \"" + op + "\"");
}

}  // namespace

json::Value MergePatch(json::Value target, const json::Value& patch) {
  if (!patch.IsObject()) return patch;
  target.MutableMembers();  // What was no object becomes one.
  for (const auto& [name, value] : patch.members()) {
    if (value.IsNull()) {
      target.Erase(name);
    } else {
      json::Value& member = target[name];
      member = MergePatch(std::move(member), value);
    }
  }
  return target;
}

Result<json::Value> JsonPatch(json::Value target, const json::Value& patch) {
  if (!patch.IsArray()) return Fail(ErrorCode::kInvalid, "a JSON patch is an array of operations");
  for (const json::Value& operation : patch.items()) TRY(ApplyOne(target, operation));
  return target;
}

}  // namespace simulation

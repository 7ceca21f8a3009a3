// A parsed text as a value, to compare the results of two parsers.
#pragma once

#include <string>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace fuzz {

// Only whole numbers: a View has no others.
inline json::Value ValueOf(json::View view) {
  if (view.IsArray()) {
    json::Value array = json::Value::Array();
    view.ForEach([&](json::View item) { array.Append(ValueOf(item)); });
    return array;
  }
  if (view.IsObject()) {
    json::Value object = json::Value::Object();
    view.ForEachMember([&](std::string_view name, json::View value) {
      object.MutableMembers().emplace_back(std::string(name), ValueOf(value));
    });
    return object;
  }
  if (view.IsNull()) return {};
  if (const auto number = view.AsInt()) return *number;
  if (view.AsBool()) return true;
  return view.AsString();
}

inline std::string TextOf(json::View view) { return json::Serialize(ValueOf(view)); }

}  // namespace fuzz

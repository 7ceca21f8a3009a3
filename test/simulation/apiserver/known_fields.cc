#include "test/simulation/apiserver/known_fields.h"

#include <algorithm>
#include <sstream>

#include "pkg/base/check.h"

namespace simulation {

using json::Value;

KnownFields::KnownFields(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    CHECK(name.ends_with(':'));
    name.pop_back();
    Type& type = types_[name];
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      type.fields.push_back({.name = word.substr(0, equals)});
      if (equals == std::string::npos) continue;
      std::string of = word.substr(equals + 1);
      type.fields.back().is_map = of.front() == '{';
      if (type.fields.back().is_map) of = of.substr(1, of.size() - 2);
      type.fields.back().type = &types_[of];
    }
    std::ranges::sort(type.fields, {}, &Field::name);
  }
  for (const auto& [name, type] : types_) CHECK(!type.fields.empty());
  for (const Kind kind : kAllKinds) {
    CHECK(Describe(kind).custom || types_.contains(Describe(kind).resource.kind));
  }
}

void KnownFields::DropUnknown(Kind kind, Value& object) const {
  Drop(types_.at(Describe(kind).resource.kind), object);
}

const KnownFields::Field* KnownFields::Type::Find(const std::string& name) const {
  const auto it = std::ranges::lower_bound(fields, name, {}, &Field::name);
  return it == fields.end() || it->name != name ? nullptr : &*it;
}

void KnownFields::Drop(const Type& type, Value& value) {
  if (!value.IsObject()) return;
  std::erase_if(value.MutableMembers(),
                [&](const Value::Member& member) { return type.Find(member.first) == nullptr; });
  for (auto& [name, member] : value.MutableMembers()) {
    DropInField(*type.Find(name), member);
  }
}

void KnownFields::DropInField(const Field& field, Value& value) {
  if (field.type == nullptr) return;
  if (field.is_map) {
    for (auto& [key, member] : value.MutableMembers()) Drop(*field.type, member);
  } else if (value.IsArray()) {
    for (Value& item : value.MutableItems()) Drop(*field.type, item);
  } else {
    Drop(*field.type, value);
  }
}

}  // namespace simulation

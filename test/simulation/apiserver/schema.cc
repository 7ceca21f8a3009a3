#include "test/simulation/apiserver/schema.h"

#include <regex.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

namespace {

using json::Value;

// The patterns of a schema, as POSIX has them: it knows all that these use.
class Pattern {
 public:
  explicit Pattern(const std::string& text) {
    CHECK(regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
  }
  ~Pattern() { regfree(&regex_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Answers are kept: the same values come again and again.
  bool Matches(const std::string& value) {
    constexpr std::size_t kKnownMax = 100;
    if (known_.size() > kKnownMax) known_.clear();
    const auto [it, is_new] = known_.try_emplace(value, false);
    if (is_new) it->second = regexec(&regex_, value.c_str(), 0, nullptr, 0) == 0;
    return it->second;
  }

 private:
  regex_t regex_ = {};
  std::map<std::string, bool> known_;
};

enum class Rule { kUnchanged, kSpecStays, kDnsName };

Rule ParseRule(const std::string& text) {
  if (text == "self == oldSelf") return Rule::kUnchanged;
  if (text == "!has(oldSelf.spec) || has(self.spec)") return Rule::kSpecStays;
  CHECK(text.find("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?") != std::string::npos);
  return Rule::kDnsName;
}

bool IsDnsName(const std::string& text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  char before = '.';
  for (const char c : text + '.') {
    if (c == '.'   ? !is_alphanumeric(before)
        : c == '-' ? !is_alphanumeric(before) && before != '-'
                   : !is_alphanumeric(c)) {
      return false;
    }
    before = c;
  }
  return true;
}

Value ScalarOf(const YAML::Node& node, const std::string& type) {
  const std::string text = node.as<std::string>();
  return type == "integer" ? Value::RawNumber(text) : Value(text);
}

}  // namespace

struct Schema::Node {
  std::string type = {};
  std::string format = {};
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> properties = {};
  std::set<std::string> required = {};
  std::unique_ptr<Node> items = nullptr;
  std::vector<std::string> list_keys = {};
  std::vector<std::string> values = {};
  std::optional<Value> default_value = {};
  std::optional<std::int64_t> minimum = {};
  std::optional<std::int64_t> maximum = {};
  std::optional<std::size_t> length_min = {};
  std::optional<std::size_t> length_max = {};
  std::optional<std::size_t> items_max = {};
  std::unique_ptr<Pattern> pattern = nullptr;
  std::vector<std::pair<Rule, std::string>> rules = {};

  explicit Node(const YAML::Node& yaml);
  void ReadKeyword(const std::string& name, const YAML::Node& value);
  const Node* Find(std::string_view name) const {
    const auto it = std::ranges::find(properties, name, [](const auto& p) { return p.first; });
    return it == properties.end() ? nullptr : it->second.get();
  }
  bool IsOpen() const { return type == "object" && properties.empty(); }

  void Complete(Value& value) const;
  void Validate(const Value& value, const Value* old, const std::string& path,
                std::vector<std::string>& errors) const;
  void ValidateObject(const Value& value, const Value* old, const std::string& path,
                      std::vector<std::string>& errors) const;
  void ValidateArray(const Value& value, const std::string& path,
                     std::vector<std::string>& errors) const;
  void ValidateString(const Value& value, const std::string& path,
                      std::vector<std::string>& errors) const;
  bool IsKept(Rule rule, const Value& value, const Value* old) const;
};

Schema::Node::Node(const YAML::Node& yaml) : type(yaml["type"].as<std::string>()) {
  for (const auto& member : yaml) ReadKeyword(member.first.as<std::string>(), member.second);
}

void Schema::Node::ReadKeyword(const std::string& name, const YAML::Node& value) {
  if (name == "properties") {
    for (const auto& property : value) {
      properties.emplace_back(property.first.as<std::string>(),
                              std::make_unique<Node>(property.second));
    }
  } else if (name == "items") {
    items = std::make_unique<Node>(value);
  } else if (name == "required") {
    for (const auto& item : value) required.insert(item.as<std::string>());
  } else if (name == "enum") {
    for (const auto& item : value) values.push_back(item.as<std::string>());
  } else if (name == "x-kubernetes-list-map-keys") {
    for (const auto& item : value) list_keys.push_back(item.as<std::string>());
  } else if (name == "x-kubernetes-validations") {
    for (const auto& item : value) {
      rules.emplace_back(ParseRule(item["rule"].as<std::string>()),
                         item["message"].as<std::string>());
    }
  } else if (name == "default") {
    default_value = ScalarOf(value, type);
  } else if (name == "pattern") {
    pattern = std::make_unique<Pattern>(value.as<std::string>());
  } else if (name == "minimum") {
    minimum = value.as<std::int64_t>();
  } else if (name == "maximum") {
    maximum = value.as<std::int64_t>();
  } else if (name == "minLength") {
    length_min = value.as<std::size_t>();
  } else if (name == "maxLength") {
    length_max = value.as<std::size_t>();
  } else if (name == "maxItems") {
    items_max = value.as<std::size_t>();
  } else if (name == "format") {
    format = value.as<std::string>();
  } else {
    CHECK(name == "type" || name == "description" || name == "x-kubernetes-list-type");
  }
}

void Schema::Node::Complete(Value& value) const {
  if (value.IsArray() && items) {
    for (Value& item : value.MutableItems()) items->Complete(item);
  }
  if (!value.IsObject() || IsOpen()) return;
  std::erase_if(value.MutableMembers(),
                [&](const Value::Member& member) { return Find(member.first) == nullptr; });
  for (const auto& [name, schema] : properties) {
    if (Value* member = value.Find(name)) {
      schema->Complete(*member);
    } else if (schema->default_value) {
      value[name] = *schema->default_value;
    }
  }
}

void Schema::Node::Validate(const Value& value, const Value* old, const std::string& path,
                            std::vector<std::string>& errors) const {
  const bool right_type = type == "object"    ? value.IsObject()
                          : type == "array"   ? value.IsArray()
                          : type == "string"  ? value.IsString()
                          : type == "integer" ? value.AsInt().has_value()
                                              : true;
  if (!right_type) {
    errors.push_back(path + ": Invalid value: must be of type " + type);
    return;
  }
  if (type == "object") ValidateObject(value, old, path, errors);
  if (type == "array") ValidateArray(value, path, errors);
  if (type == "string") ValidateString(value, path, errors);
  if (minimum && value.AsInt().value_or(*minimum) < *minimum) {
    errors.push_back(path + ": Invalid value: should be greater than or equal to " +
                     std::to_string(*minimum));
  }
  if (maximum && value.AsInt().value_or(*maximum) > *maximum) {
    errors.push_back(path + ": Invalid value: should be less than or equal to " +
                     std::to_string(*maximum));
  }
  for (const auto& [rule, message] : rules) {
    if (!IsKept(rule, value, old)) errors.push_back(path + ": Invalid value: " + message);
  }
}

void Schema::Node::ValidateObject(const Value& value, const Value* old, const std::string& path,
                                  std::vector<std::string>& errors) const {
  for (const std::string& name : required) {
    if (value.Find(name) == nullptr) errors.push_back(path + "." + name + ": Required value");
  }
  for (const auto& [name, member] : value.members()) {
    const Node* schema = Find(name);
    if (schema == nullptr) continue;
    const Value* old_member = old == nullptr ? nullptr : old->Find(name);
    schema->Validate(member, old_member, path.empty() ? name : path + "." + name, errors);
  }
}

void Schema::Node::ValidateArray(const Value& value, const std::string& path,
                                 std::vector<std::string>& errors) const {
  if (items_max && value.items().size() > *items_max) {
    errors.push_back(path + ": Too many: must have at most " + std::to_string(*items_max) +
                     " items");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    const Value& item = value.items()[i];
    const std::string item_path = path + "[" + std::to_string(i) + "]";
    if (items) items->Validate(item, nullptr, item_path, errors);
    std::string key;
    for (const std::string& name : list_keys) key += item[name].AsString() + '\n';
    if (!list_keys.empty() && !seen.insert(key).second) {
      errors.push_back(item_path + ": Duplicate value");
    }
  }
}

void Schema::Node::ValidateString(const Value& value, const std::string& path,
                                  std::vector<std::string>& errors) const {
  const std::string& text = value.AsString();
  const bool wrong =
      (length_min && text.size() < *length_min) || (length_max && text.size() > *length_max) ||
      (!values.empty() && std::ranges::find(values, text) == values.end()) ||
      (pattern && !pattern->Matches(text)) || (format == "date-time" && !base::ParseTime(text));
  if (wrong) errors.push_back(path + ": Invalid value: \"" + text + "\"");
}

bool Schema::Node::IsKept(Rule rule, const Value& value, const Value* old) const {
  switch (rule) {
    case Rule::kUnchanged:
      return old == nullptr || SameValue(value, *old);
    case Rule::kSpecStays:
      return old == nullptr || old->Find("spec") == nullptr || value.Find("spec") != nullptr;
    case Rule::kDnsName:
      return IsDnsName(value.AsString());
  }
  return true;
}

Schema Schema::FromCrd(const std::string& yaml) {
  const YAML::Node versions = YAML::Load(yaml)["spec"]["versions"];
  CHECK(versions.size() == 1);
  return Schema(std::make_unique<const Node>(versions[0]["schema"]["openAPIV3Schema"]));
}

Schema::Schema(std::unique_ptr<const Node> root) : root_(std::move(root)) {}
Schema::~Schema() = default;
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;

void Schema::Complete(Value& object) const { root_->Complete(object); }

std::vector<std::string> Schema::Validate(const Value& object, const Value* old) const {
  std::vector<std::string> errors;
  root_->Validate(object, old, "", errors);
  return errors;
}

}  // namespace simulation

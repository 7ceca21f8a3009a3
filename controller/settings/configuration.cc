#include "controller/settings/configuration.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <vector>

#include "controller/api/names.h"
#include "controller/settings/table.h"
#include "pkg/base/did_you_mean.h"
#include "pkg/base/duration.h"
#include "pkg/base/number.h"
#include "pkg/kube/api/names.h"
#include "pkg/yaml/document.h"

namespace settings {

namespace {

using base::Invalid, base::Result;
using json::Value;

constexpr std::string_view kApiVersion = "cdom.dev/v1alpha1";
constexpr std::string_view kKind = "ControllerConfiguration";

// Returns the field names directly below `prefix`, which is empty or ends in a dot.
std::set<std::string> NamesBelow(const std::string& prefix) {
  std::set<std::string> names;
  if (prefix.empty()) names = {"apiVersion", "kind"};
  for (const Setting& field : Table()) {
    if (field.path.empty() || !field.path.starts_with(prefix)) continue;
    const std::string_view rest = field.path.substr(prefix.size());
    names.emplace(rest.substr(0, rest.find_first_of(".[")));
  }
  return names;
}

// Returns what to write instead of an unknown name.
std::string HintAt(const std::string& name, const std::set<std::string>& names) {
  const std::vector<std::string> known(names.begin(), names.end());
  std::string hint = base::DidYouMean(name, known);
  if (!hint.empty()) return hint;
  for (const std::string& each : known) hint += (hint.empty() ? "; use one of " : ", ") + each;
  return hint;
}

const Setting* FindField(const std::string& path) {
  const auto table = Table();
  const auto it = std::ranges::find(table, path, &Setting::path);
  return it == table.end() ? nullptr : &*it;
}

bool HasFieldsBelow(const std::string& prefix) {
  return std::ranges::any_of(Table(),
                             [&](const Setting& field) { return field.path.starts_with(prefix); });
}

bool IsAllowed(std::string_view allowed, std::string_view value) {
  return allowed.empty() ||
         ("|" + std::string(allowed) + "|").find("|" + std::string(value) + "|") !=
             std::string::npos;
}

// Returns whether the text is a quantity of Kubernetes, e.g. "100m", "1.5", "256Mi".
bool IsQuantity(std::string_view text) {
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const bool is_number = !text.empty() && text.front() >= '0' && text.front() <= '9';  // Not "inf".
  return is_number && error == std::errc() && IsAllowed("|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei", unit);
}

// Reads the file into JSON of the same structure.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<Value> Read(const YAML::Node& root) const {
    if (!root.IsMap()) return Wrong(root, "", "write a map, beginning with apiVersion and kind");
    Value value = TRY(Map(root, "", ""));
    if (value["apiVersion"].AsString() != kApiVersion) {
      return Wrong(root["apiVersion"] ? root["apiVersion"] : root, "apiVersion",
                   "write " + std::string(kApiVersion));
    }
    if (value["kind"].AsString() != kKind) {
      return Wrong(root["kind"] ? root["kind"] : root, "kind", "write " + std::string(kKind));
    }
    return value;
  }

 private:
  tl::unexpected<base::Error> Wrong(const YAML::Node& node, const std::string& field,
                                    const std::string& fix) const {
    return Invalid(file_ + ":" + std::to_string(node.Mark().line + 1) + ": " +
                   (field.empty() ? "" : field + ": ") + fix);
  }

  // `prefix` is the path in the table, `shown` the path in the file, with numbers of items.
  Result<Value> Map(const YAML::Node& node, const std::string& prefix,
                    const std::string& shown) const {
    Value value = Value::Object();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return Wrong(member.first, shown, "write names as text");
      const std::string& name = member.first.Scalar();
      const std::set<std::string> names = NamesBelow(prefix);
      if (!names.contains(name)) {
        return Wrong(member.first, shown + name, "unknown field" + HintAt(name, names));
      }
      if (value.Find(name) != nullptr) {
        return Wrong(member.first, shown + name, "it is there twice; remove one");
      }
      if (member.second.IsNull()) continue;  // The same as a missing field.
      value[name] = TRY(Member(member.second, prefix + name, shown + name));
    }
    return value;
  }

  Result<Value> Member(const YAML::Node& node, const std::string& path,
                       const std::string& shown) const {
    if (const Setting* field = FindField(path)) return Leaf(node, *field, shown);
    if (path == "apiVersion" || path == "kind") return Text(node, shown);
    if (!HasFieldsBelow(path + "[].")) {
      if (!node.IsMap()) return Wrong(node, shown, "write a map");
      return Map(node, path + ".", shown + ".");
    }
    if (!node.IsSequence()) return Wrong(node, shown, "write a list");
    Value list = Value::Array();
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string item = shown + "[" + std::to_string(i) + "]";
      if (!node[i].IsMap()) return Wrong(node[i], item, "write a map");
      list.Append(TRY(Map(node[i], path + "[].", item + ".")));
    }
    return list;
  }

  Result<Value> Leaf(const YAML::Node& node, const Setting& field, const std::string& shown) const {
    switch (field.type) {
      case FieldType::kTexts: {
        if (!node.IsSequence()) return Wrong(node, shown, "write a list of texts");
        Value list = Value::Array();
        for (const YAML::Node& item : node) list.Append(TRY(Text(item, shown)));
        return list;
      }
      case FieldType::kMap:
      case FieldType::kQuantities:
        return Texts(node, field.type, shown);
      default:
        return Scalar(TRY(Text(node, shown)).AsString(), node, field, shown);
    }
  }

  Result<Value> Text(const YAML::Node& node, const std::string& shown) const {
    if (!node.IsScalar()) return Wrong(node, shown, "write one value");
    return Value(node.Scalar());
  }

  Result<Value> Texts(const YAML::Node& node, FieldType type, const std::string& shown) const {
    if (!node.IsMap()) return Wrong(node, shown, "write a map of texts");
    Value map = Value::Object();
    for (const auto& member : node) {
      const std::string name = TRY(Text(member.first, shown)).AsString();
      const std::string text = TRY(Text(member.second, shown + "." + name)).AsString();
      if (type == FieldType::kQuantities && !IsQuantity(text)) {
        return Wrong(member.second, shown + "." + name, "write a quantity such as 100m or 256Mi");
      }
      map[name] = text;
    }
    return map;
  }

  Result<Value> Scalar(const std::string& text, const YAML::Node& node, const Setting& field,
                       const std::string& shown) const {
    if (field.type == FieldType::kFlag) {
      if (text != "true" && text != "false") return Wrong(node, shown, "write true or false");
      return Value(text == "true");
    }
    if (field.type == FieldType::kInteger) {
      const auto number = base::ParseNumber<std::int64_t>(text);
      if (!number) return Wrong(node, shown, "write a whole number");
      return Value(*number);
    }
    if (field.type == FieldType::kDuration) {
      if (const auto duration = base::ParseDuration(text); !duration) {
        return Wrong(node, shown, duration.error().message);
      }
    } else if (!IsAllowed(field.allowed, text)) {
      return Wrong(node, shown, "write one of " + std::string(field.allowed));
    }
    return Value(text);
  }

  const std::string& file_;
};

// Returns whether the text is a taint, or a prefix of taints that ends in "/*". Refuses Kubernetes'
// own taints except one, because the cache drops them: they repeat other facts.
bool IsLeavingTaint(std::string_view text) {
  if (text == api::kOutOfServiceTaint) return true;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return !text.empty() && kube::IsLabelValue(text);
  const std::string_view prefix = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1);
  return kube::IsDnsSubdomain(prefix) && prefix != "node.kubernetes.io" &&
         (name == "*" || (!name.empty() && kube::IsLabelValue(name)));
}

Result<void> CheckLeavingTaints(const Value& taints, const std::string& file) {
  for (const Value& taint : taints.items()) {
    if (IsLeavingTaint(taint.AsString())) continue;
    return Invalid(file +
                   ": nodes.leavingTaints: write keys of taints, such as example.com/spot or "
                   "example.com/*, and of node.kubernetes.io none but out-of-service");
  }
  return {};
}

// Returns whether the text has only comments, or nothing.
bool IsBlank(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') return false;
  }
  return true;
}

// Returns the value at "a.b.c". Null if the file does not set it.
const Value& At(const Value& file, std::string_view path) {
  const Value* value = &file;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = &(*value)[path.substr(0, dot)];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return *value;
}

void Apply(const Value& file, const IsGiven& is_given, Settings& settings) {
  for (const Map& map : Maps()) {
    if (const Value& value = At(file, map.path); !value.IsNull()) map.apply(value, settings);
  }
  for (const Setting& setting : Table()) {
    if (setting.apply == nullptr || (is_given && is_given(setting.flag))) continue;
    if (const Value& value = At(file, setting.path); !value.IsNull())
      setting.apply(value, settings);
  }
}

}  // namespace

Result<void> ReadConfiguration(const std::string& text, const std::string& file, Settings& settings,
                               const IsGiven& is_given) {
  if (IsBlank(text)) {
    return Invalid(
        file + ": The file is empty. Begin with `apiVersion: " + std::string(kApiVersion) + "`.");
  }
  const YAML::Node root = TRY(yaml::ParseOnly(text, file));
  try {
    const Value value = TRY(Reader(file).Read(root));
    if (value["daemons"]["nodeSelector"].Find(api::kDomainLabel) != nullptr) {
      return Invalid(file + ": daemons.nodeSelector: leave out " + std::string(api::kDomainLabel) +
                     ", which is the domain's");
    }
    TRY(CheckLeavingTaints(value["nodes"]["leavingTaints"], file));
    Apply(value, is_given, settings);
    return {};
  } catch (const YAML::Exception& exception) {  // The checks above should prevent this.
    return Invalid(file + ": " + exception.msg);
  }
}

}  // namespace settings

#include "node/dra/rules/go_json.h"

#include <span>
#include <string_view>

namespace dra {

namespace {

// Returns Go's form of the escape that starts `text`. Empty if cdom's encoder writes the same.
std::string_view ShortOf(std::string_view text) {
  if (text.starts_with("\\u000d")) return "\\r";
  if (text.starts_with("\\u0009")) return "\\t";
  if (text.starts_with("\\u0008")) return "\\b";
  if (text.starts_with("\\u000c")) return "\\f";
  return {};
}

// Returns Go's escape for a character that cdom's encoder leaves as it is. `length`: its bytes.
std::string_view EscapeOf(std::string_view text, std::size_t& length) {
  length = 1;
  if (text.front() == '<') return "\\u003c";
  if (text.front() == '>') return "\\u003e";
  if (text.front() == '&') return "\\u0026";
  length = 3;
  if (text.starts_with("\xE2\x80\xA8")) return "\\u2028";
  if (text.starts_with("\xE2\x80\xA9")) return "\\u2029";
  length = 1;
  return {};
}

// A struct of Go: its fields, in order.
struct Field;
using Fields = std::span<const Field>;
struct Field {
  std::string_view name = {};
  bool omitted_if_empty = true;
  Fields fields = {};  // Of the struct or of list items. Empty if the value stays unchanged.
};

constexpr Field kOpaque[] = {{"driver", false}, {"parameters", false}};
constexpr Field kConfig[] = {{"source", false}, {"requests"}, {"opaque", true, kOpaque}};
constexpr Field kToleration[] = {
    {"key"}, {"operator"}, {"value"}, {"effect"}, {"tolerationSeconds"}};
constexpr Field kResult[] = {{"request", false},    {"driver", false},
                             {"pool", false},       {"device", false},
                             {"adminAccess"},       {"tolerations", true, kToleration},
                             {"bindingConditions"}, {"bindingFailureConditions"},
                             {"shareID"},           {"consumedCapacity"}};
constexpr Field kDevices[] = {{"results", true, kResult}, {"config", true, kConfig}};
constexpr Field kRequirement[] = {{"key", false}, {"operator", false}, {"values"}};
constexpr Field kTerm[] = {{"matchExpressions", true, kRequirement},
                           {"matchFields", true, kRequirement}};
constexpr Field kSelector[] = {{"nodeSelectorTerms", false, kTerm}};
// A struct that is not a pointer is never omitted, whatever its tag says.
constexpr Field kAllocation[] = {
    {"devices", false, kDevices}, {"nodeSelector", true, kSelector}, {"allocationTimestamp"}};
constexpr Field kConsumer[] = {{"apiGroup"}, {"resource", false}, {"name", false}, {"uid", false}};
constexpr Field kStatus[] = {{"allocation", true, kAllocation}, {"reservedFor", true, kConsumer}};

bool IsEmpty(const json::Value& value) {
  return value.IsNull() || (value.IsArray() && value.items().empty()) ||
         (value.IsString() && value.AsString().empty());
}

json::Value Canonical(const json::Value& value, Fields fields) {
  if (fields.empty()) return value;
  if (value.IsArray()) {
    return json::Value::ArrayOf(value.items(),
                                [&](const json::Value& item) { return Canonical(item, fields); });
  }
  json::Value object = json::Value::Object();
  for (const Field& field : fields) {
    const json::Value& member = value[field.name];
    if (field.omitted_if_empty && IsEmpty(member)) continue;
    const bool is_text = field.fields.empty() && field.name != "parameters";
    object[field.name] =
        member.IsNull() && is_text ? json::Value("") : Canonical(member, field.fields);
  }
  return object;
}

}  // namespace

std::string GoJson(const json::Value& value) {
  const std::string ours = json::Serialize(value);
  std::string out;
  out.reserve(ours.size());
  for (std::string_view rest = ours; !rest.empty();) {
    std::size_t length = 1;
    if (rest.front() == '\\') {
      const std::string_view shorter = ShortOf(rest);
      out += shorter.empty() ? rest.substr(0, 2) : shorter;
      length = shorter.empty() ? 2 : 6;
    } else {
      const std::string_view escape = EscapeOf(rest, length);
      out += escape.empty() ? rest.substr(0, 1) : escape;
    }
    rest.remove_prefix(length);
  }
  return out;
}

json::Value CanonicalClaimStatus(const json::Value& status) { return Canonical(status, kStatus); }

}  // namespace dra

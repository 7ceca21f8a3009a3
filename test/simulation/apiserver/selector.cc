#include "test/simulation/apiserver/selector.h"

#include <algorithm>

namespace simulation {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at `separator`, but not inside parentheses.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(Trim(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(Trim(text.substr(start)));
  return parts;
}

// Cuts `text` at the first `separator`; false if it has none.
bool Cut(std::string_view text, std::string_view separator, std::string_view& left,
         std::string_view& right) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return false;
  left = Trim(text.substr(0, at));
  right = Trim(text.substr(at + separator.size()));
  return true;
}

bool IsKey(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

}  // namespace

Result<Selector::LabelTerm> Selector::ParseLabelTerm(std::string_view text) {
  LabelTerm term;
  std::string_view key;
  std::string_view value;
  if (text.ends_with(')') &&
      (Cut(text, " notin (", key, value) || Cut(text, " in (", key, value))) {
    term.op = text.find(" notin (") != std::string_view::npos ? Operator::kNotIn : Operator::kIn;
    value.remove_suffix(1);
    for (const std::string_view item : Split(value, ',')) term.values.emplace_back(item);
  } else if (Cut(text, "!=", key, value)) {
    term.op = Operator::kNotIn;
    term.values = {std::string(value)};
  } else if (Cut(text, "==", key, value) || Cut(text, "=", key, value)) {
    term.op = Operator::kIn;
    term.values = {std::string(value)};
  } else if (text.starts_with('!')) {
    term.op = Operator::kNotExists;
    key = Trim(text.substr(1));
  } else {
    key = text;
  }
  const auto is_value = [](const std::string& item) { return item.empty() || IsKey(item); };
  if (!IsKey(key) || !std::ranges::all_of(term.values, is_value)) {
    return Fail(ErrorCode::kInvalid, "unable to parse requirement: " + std::string(text));
  }
  term.key = key;
  return term;
}

Result<Selector::FieldTerm> Selector::ParseFieldTerm(const KindInfo& kind, std::string_view text) {
  FieldTerm term;
  std::string_view field;
  std::string_view value;
  term.equal = !Cut(text, "!=", field, value);
  if (term.equal && !Cut(text, "==", field, value) && !Cut(text, "=", field, value)) {
    return Fail(ErrorCode::kInvalid, "invalid field selector: " + std::string(text));
  }
  const bool known = field == "metadata.name" || field == "metadata.namespace" ||
                     std::ranges::find(kind.selectable, field) != kind.selectable.end();
  if (!known) {
    return Fail(ErrorCode::kInvalid, "field label not supported: " + std::string(field));
  }
  for (const std::string_view part : Split(field, '.')) term.path.emplace_back(part);
  term.value = value;
  return term;
}

Result<Selector> Selector::Parse(const KindInfo& kind, std::string_view labels,
                                 std::string_view fields) {
  Selector selector;
  if (!labels.empty()) {
    for (const std::string_view text : Split(labels, ',')) {
      selector.labels_.push_back(TRY(ParseLabelTerm(text)));
    }
  }
  if (!fields.empty()) {
    for (const std::string_view text : Split(fields, ',')) {
      selector.fields_.push_back(TRY(ParseFieldTerm(kind, text)));
    }
  }
  return selector;
}

bool Selector::Matches(const Object& object) const {
  for (const LabelTerm& term : labels_) {
    const std::string* label = object.FindLabel(term.key);
    const bool listed =
        label != nullptr && std::ranges::find(term.values, *label) != term.values.end();
    switch (term.op) {
      case Operator::kIn:
        if (!listed) return false;
        break;
      case Operator::kNotIn:
        if (listed) return false;
        break;
      case Operator::kExists:
        if (label == nullptr) return false;
        break;
      case Operator::kNotExists:
        if (label != nullptr) return false;
        break;
    }
  }
  for (const FieldTerm& term : fields_) {
    const json::Value* value = &object.value();
    for (const std::string& name : term.path) value = &(*value)[name];
    if ((value->AsString() == term.value) != term.equal) return false;
  }
  return true;
}

}  // namespace simulation

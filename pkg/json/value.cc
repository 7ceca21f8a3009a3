#include "pkg/json/value.h"

#include <algorithm>
#include <unordered_set>

#include "pkg/base/number.h"
#include "pkg/json/rapidjson_guard.h"
#include "pkg/json/utf8.h"

namespace json {

namespace {

const Value kNull;
const std::string kNoText;
const Value::Items kNoItems;
const Value::Members kNoMembers;

// Writes the character at the start of `text`, which is not a plain one. Returns its bytes.
std::size_t WriteCharacter(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  const std::size_t length = CharacterLength(text);
  const auto byte = static_cast<unsigned char>(text.front());
  if (length == 0) {
    out += "\xEF\xBF\xBD";  // U+FFFD
  } else if (byte == '"' || byte == '\\') {
    out += '\\';
    out += text.front();
  } else if (byte == '\n') {
    out += "\\n";
  } else if (byte < 0x20) {
    out += "\\u00";
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  } else {
    out += text.substr(0, length);
  }
  return std::max<std::size_t>(length, 1);
}

void WriteString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = PlainPrefix(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(WriteCharacter(text, out));
  }
  out += '"';
}

}  // namespace

Value Value::Object(std::initializer_list<Field> fields) {
  Members members;
  members.reserve(fields.size());
  for (const Field& field : fields) members.push_back(std::move(field.member));
  return Value(std::move(members));
}

Value Value::Array(std::initializer_list<Item> items) {
  Items values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(std::move(item.value));
  return Value(std::move(values));
}

const std::string& Value::AsString() const {
  const auto* text = std::get_if<std::string>(&data_);
  return text != nullptr ? *text : kNoText;
}

std::optional<std::int64_t> Value::AsInt() const {
  const auto* number = std::get_if<Number>(&data_);
  return number == nullptr ? std::nullopt : base::ParseNumber<std::int64_t>(number->text);
}

bool Value::AsBool() const {
  const bool* value = std::get_if<bool>(&data_);
  return value != nullptr && *value;
}

std::vector<std::string> Value::AsTexts() const {
  std::vector<std::string> texts;
  for (const Value& item : items()) texts.push_back(item.AsString());
  return texts;
}

const Value::Items& Value::items() const {
  const auto* items = std::get_if<Items>(&data_);
  return items != nullptr ? *items : kNoItems;
}

const Value::Members& Value::members() const {
  const auto* members = std::get_if<Members>(&data_);
  return members != nullptr ? *members : kNoMembers;
}

const Value* Value::Find(std::string_view name) const {
  const auto& all = members();
  const auto it = std::ranges::find(all, name, &Member::first);
  return it == all.end() ? nullptr : &it->second;
}

Value* Value::Find(std::string_view name) {
  return const_cast<Value*>(std::as_const(*this).Find(name));
}

const Value& Value::operator[](std::string_view name) const {
  const Value* found = Find(name);
  return found != nullptr ? *found : kNull;
}

Value& Value::operator[](std::string_view name) {
  if (Value* found = Find(name)) return *found;
  return MutableMembers().emplace_back(std::string(name), Value()).second;
}

Value::Items& Value::MutableItems() {
  if (!IsArray()) data_ = Items();
  return std::get<Items>(data_);
}

Value::Members& Value::MutableMembers() {
  if (!IsObject()) data_ = Members();
  return std::get<Members>(data_);
}

bool Value::Erase(std::string_view name) {
  auto* all = std::get_if<Members>(&data_);
  return all != nullptr &&
         std::erase_if(*all, [&](const Member& m) { return m.first == name; }) > 0;
}

void Value::Write(std::string& out) const {
  if (IsNull()) {
    out += "null";
  } else if (const bool* flag = std::get_if<bool>(&data_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* number = std::get_if<Number>(&data_)) {
    out += number->text;
  } else if (const auto* text = std::get_if<std::string>(&data_)) {
    WriteString(*text, out);
  } else if (IsArray()) {
    char separator = '[';
    for (const Value& item : items()) {
      out += separator;
      separator = ',';
      item.Write(out);
    }
    out += separator == '[' ? "[]" : "]";
  } else {
    char separator = '{';
    for (const auto& [name, value] : members()) {
      out += separator;
      separator = ',';
      WriteString(name, out);
      out += ':';
      value.Write(out);
    }
    out += separator == '{' ? "{}" : "}";
  }
}

std::string Serialize(const Value& value) {
  std::string out;
  value.Write(out);
  return out;
}

// Receives the parser's events and builds the value.
class ValueBuilder {
 public:
  using SizeType = rapidjson::SizeType;
  bool Null() { return Put(Value()); }
  bool Bool(bool value) { return Put(Value(value)); }
  bool RawNumber(const char* text, SizeType length, bool /*copy*/) {
    return Put(Value::RawNumber(std::string(text, length)));
  }
  bool String(const char* text, SizeType length, bool /*copy*/) {
    return Put(Value(std::string(text, length)));
  }
  bool Key(const char* text, SizeType length, bool /*copy*/) {
    open_.back().MutableMembers().emplace_back(std::string(text, length), Value());
    return true;
  }
  bool StartObject() { return Open(Value::Object()); }
  bool EndObject(SizeType /*count*/) {
    KeepLastOfEachName(open_.back().MutableMembers());
    return Close();
  }
  bool StartArray() { return Open(Value::Array()); }
  bool EndArray(SizeType /*count*/) { return Close(); }

  Value Take() { return std::move(result_); }

 private:
  // Runs once at the end: a search for each member takes quadratic time on a hostile object.
  static void KeepLastOfEachName(Value::Members& members) {
    if (members.size() <= kFew && AreNamesUnique(members)) return;
    std::unordered_set<std::string_view> seen;
    std::vector<bool> keep(members.size());
    for (std::size_t i = members.size(); i-- > 0;) keep[i] = seen.insert(members[i].first).second;
    if (seen.size() == members.size()) return;
    Value::Members kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (keep[i]) kept.push_back(std::move(members[i]));
    }
    members = std::move(kept);
  }

  // Compares each pair, which is faster than a set for few members.
  static constexpr std::size_t kFew = 16;
  static bool AreNamesUnique(const Value::Members& members) {
    for (auto it = members.begin(); it != members.end(); ++it) {
      const auto has_name = [&](const Value::Member& other) { return other.first == it->first; };
      if (std::any_of(members.begin(), it, has_name)) return false;
    }
    return true;
  }

  bool Open(Value value) {
    open_.push_back(std::move(value));
    return true;
  }
  bool Close() {
    Value done = std::move(open_.back());
    open_.pop_back();
    return Put(std::move(done));
  }
  bool Put(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().IsArray()) {
      open_.back().Append(std::move(value));
    } else {
      open_.back().MutableMembers().back().second = std::move(value);
    }
    return true;
  }

  std::vector<Value> open_;
  Value result_;
};

base::Result<Value> Parse(std::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  ValueBuilder builder;
  TRY(internal::ParseInto<rapidjson::kParseDefaultFlags>(builder, stream, text.size()));
  return builder.Take();
}

}  // namespace json

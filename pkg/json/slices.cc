#include "pkg/json/slices.h"

#include <algorithm>

#include "pkg/json/reader.h"
#include "pkg/json/scanner.h"

namespace json {

namespace {

// Takes values and separators from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  // Returns the next character that is not white space. 0 at the end.
  char Peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Empty if there is no value.
  std::string_view TakeValue() {
    Peek();
    Scanner scanner;
    const auto [found, used] = scanner.Scan(rest_);
    if (found != Scanner::Found::kValue) return {};
    const std::string_view value = rest_.substr(0, used);
    rest_.remove_prefix(used);
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace

base::Result<void> ForEachSlice(
    std::string_view text,
    const std::function<void(std::string_view name, std::string_view value)>& use) {
  const auto malformed = [] {
    return base::Invalid("malformed JSON, or deeper than 10,000 levels");
  };
  Cursor cursor(text);
  const bool is_object = cursor.Take('{');
  if (!is_object && !cursor.Take('[')) return {};
  const char close = is_object ? '}' : ']';
  for (bool is_first = true; !cursor.Take(close); is_first = false) {
    if (!is_first && !cursor.Take(',')) return malformed();
    std::string_view name;
    if (is_object) {
      if (cursor.Peek() != '"') return malformed();
      name = cursor.TakeValue();
      if (name.empty() || !cursor.Take(':')) return malformed();
      name = name.substr(1, name.size() - 2);
    }
    const std::string_view value = cursor.TakeValue();
    if (value.empty()) return malformed();
    use(name, value);
  }
  return cursor.Peek() == '\0' ? base::Result<void>() : malformed();
}

std::string_view SliceOf(std::string_view object, std::string_view name) {
  std::string_view found;
  const auto fine = ForEachSlice(object, [&](std::string_view each, std::string_view value) {
    if (each == name) found = value;
  });
  return fine ? found : std::string_view();
}

std::string TextOf(std::string_view object, std::string_view name) {
  Parser parser;
  const auto value = parser.Parse(SliceOf(object, name));
  return std::string(value ? value->AsString() : "");
}

std::size_t DepthOf(std::string_view text) {
  Scanner scanner;
  static_cast<void>(scanner.Scan(text));
  return scanner.deepest();
}

}  // namespace json

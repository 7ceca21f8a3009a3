#include "pkg/json/repair.h"

#include <algorithm>
#include <optional>

#include "pkg/base/number.h"
#include "pkg/json/utf8.h"

namespace json {

namespace {

constexpr std::string_view kReplacement = "\\ufffd";

// Copies a text from front to back, with repairs.
class Copy {
 public:
  explicit Copy(std::string_view text) : rest_(text) { out_.reserve(text.size()); }

  std::string Run() {
    int depth = 0;
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"') {
        String();
      } else if (c == '{' || c == '[') {
        if (depth == kDepthMax) {
          SkipBrackets();
          out_ += "null";
          continue;
        }
        ++depth;
        Take(1);
      } else if (c == '-' || (c >= '0' && c <= '9')) {
        Number();
      } else {
        if (c == '}' || c == ']') --depth;
        Take(1);
      }
    }
    return std::move(out_);
  }

 private:
  void Take(std::size_t count) {
    count = std::min(count, rest_.size());
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  void Replace(std::size_t count, std::string_view replacement) {
    rest_.remove_prefix(count);
    out_ += replacement;
  }

  void String() {
    Take(1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"') return Take(1);
      if (c == '\\') {
        EscapeSequence();
      } else if (const std::size_t length = CharacterLength(rest_); length != 0) {
        Take(length);
      } else {
        Replace(1, kReplacement);
      }
    }
  }

  void EscapeSequence() {
    const std::optional<unsigned> first = Unit(rest_);
    if (!first || *first < 0xD800 || *first > 0xDFFF) return Take(2);
    const std::optional<unsigned> second = Unit(rest_.substr(6));
    const bool pair = *first < 0xDC00 && second && *second >= 0xDC00 && *second <= 0xDFFF;
    if (pair) return Take(12);
    Replace(6, kReplacement);
  }

  // Returns the UTF-16 unit at the start of `text`, as in "\ud83d". Empty if there is none.
  static std::optional<unsigned> Unit(std::string_view text) {
    if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
    return base::ParseNumber<unsigned>(text.substr(2, 4), 16);
  }

  // A double ends at 1.8e308. Replaces a number with an exponent of three digits, or with more than
  // 300 characters. That also loses a few numbers in range.
  void Number() {
    const std::size_t length = std::min(rest_.find_first_not_of("0123456789+-.eE"), rest_.size());
    const std::string_view number = rest_.substr(0, length);
    const std::size_t exponent = number.find_first_of("eE");
    const std::size_t digits = number.find_first_of("0123456789", exponent);
    const bool far = digits != std::string_view::npos && number.size() - digits > 2;
    if (far || length > 300) return Replace(length, "null");
    Take(length);
  }

  // Skips a value in brackets.
  void SkipBrackets() {
    int open = 0;
    bool in_string = false;
    std::size_t i = 0;
    for (; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (in_string && c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = !in_string;
      } else if (!in_string && (c == '{' || c == '[')) {
        ++open;
      } else if (!in_string && (c == '}' || c == ']') && --open == 0) {
        break;
      }
    }
    rest_.remove_prefix(std::min(i + 1, rest_.size()));
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string Repair(std::string_view text) { return Copy(text).Run(); }

base::Result<View> ParseRepaired(Parser& parser, std::string_view text) {
  base::Result<View> view = parser.Parse(text);
  return view ? view : parser.Parse(Repair(text));
}

base::Result<Document> ParseRepaired(std::string_view text) {
  Parser parser;
  const View root = TRY(ParseRepaired(parser, text));
  return Document(std::move(parser), root);
}

}  // namespace json

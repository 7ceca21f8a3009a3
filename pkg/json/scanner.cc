#include "pkg/json/scanner.h"

#include <algorithm>

#include "pkg/json/utf8.h"

namespace json {

namespace {

constexpr std::size_t kLevelsMax = 10'000;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }
bool IsScalar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
         c == 'E';
}

}  // namespace

Scanner::Result Scanner::Scan(std::string_view bytes) {
  std::size_t i = 0;
  const auto ended = [&] {  // Not true after a key.
    return open_.empty() && want_ == Want::kCommaOrEnd;
  };
  while (i < bytes.size()) {
    if (in_string_ && !after_backslash_) {
      i += PlainPrefix(bytes.substr(i));
      if (i == bytes.size()) break;
    }
    const char c = bytes[i];
    if (in_string_) {
      if (IsControl(c)) return {Found::kBad, i};
      ++i;
      if (after_backslash_) {
        after_backslash_ = false;
      } else if (c == '\\') {
        after_backslash_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      if (in_string_) continue;
    } else if (in_scalar_ && IsScalar(c)) {
      ++i;
      continue;
    } else if (in_scalar_) {
      in_scalar_ = false;  // `c` is read again, unless the value has ended.
    } else {
      ++i;
      if (IsSpace(c)) continue;
      if (!Take(c)) return {Found::kBad, i};
      if (in_string_ || in_scalar_) continue;
    }
    if (ended()) {
      want_ = Want::kValue;
      return {Found::kValue, i};
    }
  }
  return {Found::kMore, i};
}

bool Scanner::Take(char c) {
  switch (want_) {
    case Want::kValueOrEnd:
      return c == ']' ? Close('[') : TakeValue(c);
    case Want::kValue:
      return TakeValue(c);
    case Want::kKeyOrEnd:
      if (c == '}') return Close('{');
      [[fallthrough]];
    case Want::kKey:
      want_ = Want::kColon;
      in_string_ = true;
      return c == '"';
    case Want::kColon:
      want_ = Want::kValue;
      return c == ':';
    case Want::kCommaOrEnd:
      if (c == '}') return Close('{');
      if (c == ']') return Close('[');
      want_ = open_.back() == '{' ? Want::kKey : Want::kValue;
      return c == ',';
  }
  return false;
}

bool Scanner::TakeValue(char c) {
  if (c == '{' || c == '[') return Open(c);
  want_ = Want::kCommaOrEnd;
  in_string_ = c == '"';
  in_scalar_ = !in_string_;
  return in_string_ || c == '-' || (c >= '0' && c <= '9') || c == 't' || c == 'f' || c == 'n';
}

bool Scanner::Open(char bracket) {
  open_ += bracket;
  deepest_ = std::max(deepest_, open_.size());
  want_ = bracket == '{' ? Want::kKeyOrEnd : Want::kValueOrEnd;
  return open_.size() <= kLevelsMax;
}

bool Scanner::Close(char bracket) {
  if (open_.empty() || open_.back() != bracket) return false;
  open_.pop_back();
  want_ = Want::kCommaOrEnd;
  return true;
}

}  // namespace json

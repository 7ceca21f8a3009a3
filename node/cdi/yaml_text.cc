#include "node/cdi/yaml_text.h"

#include <algorithm>
#include <array>

#include "pkg/json/value.h"

namespace cdi {

namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsPlainCharacter(char c) {
  return IsLetter(c) || IsDigit(c) ||
         std::string_view("-_./=,+@").find(c) != std::string_view::npos;
}

// Letters that stand in no number, whatever its base and exponent.
bool IsOfNoNumber(char c) {
  return IsLetter(c) && std::string_view("abcdefABCDEFxXoO").find(c) == std::string_view::npos;
}

bool IsWordOfYaml(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"null", "true", "false", "yes", "no",
                                                      "on",   "off",  "y",     "n"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return std::ranges::find(kWords, lower) != kWords.end();
}

bool IsPlain(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, IsPlainCharacter) || IsWordOfYaml(text)) {
    return false;
  }
  if (IsDigit(text.front())) return std::ranges::any_of(text, IsOfNoNumber);
  return IsLetter(text.front()) || text.front() == '/';
}

}  // namespace

std::string YamlScalar(std::string_view text) {
  // A text of JSON is one of YAML.
  return IsPlain(text) ? std::string(text) : json::Serialize(json::Value(text));
}

}  // namespace cdi

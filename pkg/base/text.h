// Small helpers for text: readers of text from outside, and lists in messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace base {

// Returns `text` without blanks at both ends.
inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Returns the value of a Boolean in a form that Go's strconv.ParseBool accepts, as NVIDIA's
// programs do. Empty if it has another form.
inline std::optional<bool> ParseGoBool(std::string_view text) {
  constexpr auto kTrue = std::to_array<std::string_view>({"1", "t", "T", "true", "TRUE", "True"});
  constexpr auto kFalse =
      std::to_array<std::string_view>({"0", "f", "F", "false", "FALSE", "False"});
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return {};
}

// Returns "a, b and 4 more": the first `shown_max` names, and the number of all others.
inline std::string JoinFew(const std::vector<std::string>& names, std::size_t shown_max) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown_max); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > shown_max)
    text += " and " + std::to_string(names.size() - shown_max) + " more";
  return text;
}

// Returns "a, b, c".
inline std::string Join(const std::vector<std::string>& names) {
  return JoinFew(names, names.size());
}

}  // namespace base

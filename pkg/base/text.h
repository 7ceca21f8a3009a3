// Small helpers for text: readers of text from outside, and lists in messages.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace base {

// Returns `text` without blanks at both ends.
inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Removes the first part of `text`, and the `end` behind it. Returns the part without `end`. The
// last part may have none.
inline std::string_view TakePart(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
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

// Returns the numbers at the beginning of a version: {1, 7, 27} of "1.7.27-rc.1". Empty if it does
// not begin with one.
inline std::vector<int> VersionIn(std::string_view text) {
  std::vector<int> numbers;
  int number = 0;
  while (true) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (!text.starts_with('.')) return numbers;
    text.remove_prefix(1);
  }
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

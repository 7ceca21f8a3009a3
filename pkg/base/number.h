// Parses numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace base {

// Parses all of `text` as a number, as std::from_chars does. Empty if it has other characters, or
// if the number does not fit.
template <typename T>
std::optional<T> ParseNumber(std::string_view text, int radix = 10) {
  T number = {};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, radix);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace base

// Numbers in texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace base {

// The number that `text` is, as std::from_chars reads it. Empty if any of it is something else, or
// if the number does not fit.
template <typename T>
[[nodiscard]] std::optional<T> ParseNumber(std::string_view text, int radix = 10) {
  T number = {};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, radix);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace base

// Makes texts from outside harmless in a log. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace logging {

constexpr std::size_t kValueBytesMax = 8U << 10;

// `text` as UTF-8 of at most kValueBytesMax, with a note of how much was left out. U+FFFD stands
// for invalid bytes and for characters that make a terminal show something else: C1 controls, DEL,
// and the controls of writing direction. C0 controls are left to Escape().
[[nodiscard]] std::string Clean(std::string_view text);

// `text` on one line: quotation marks, backslashes and C0 controls are escaped as in C.
[[nodiscard]] std::string Escape(std::string_view text);

}  // namespace logging

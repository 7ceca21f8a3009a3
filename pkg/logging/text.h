// Makes untrusted text harmless in a log.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace logging {

constexpr std::size_t kValueBytesMax = 8U << 10;

// Returns `text` as UTF-8, cut after kValueBytesMax with a note of how much is missing. U+FFFD
// replaces invalid bytes, and characters that make a terminal show something else: C1 controls, DEL
// and direction controls. C0 controls stay for Escape().
std::string Clean(std::string_view text);

// Returns `text` on one line, with quotation marks, backslashes and C0 controls escaped as in C.
std::string Escape(std::string_view text);

// Returns the text as a value in a line: in double quotes and escaped. A text with double quotes,
// such as JSON, stands in back quotes as it is, if it can: so people find in it what they search.
std::string Quote(std::string_view text);

}  // namespace logging

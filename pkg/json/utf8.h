#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace json {

// Whether `text` is UTF-8 as RFC 3629 has it: no surrogates, no overlong forms.
[[nodiscard]] bool IsUtf8(std::string_view text);

// How many bytes the character at the start of `text` has, 1 to 4; 0 if it is not UTF-8.
// REQUIRES: `text` is not empty.
[[nodiscard]] std::size_t CharacterLength(std::string_view text);

// As much of the start of `text` as fits into `most` bytes, without half of a character: half of
// one would be written as another, and so never equal what was meant.
[[nodiscard]] std::string_view Prefix(std::string_view text, std::size_t most);

// Whether a character, of 1 to 4 bytes of UTF-8, makes a line look like another one: a terminal
// obeys C0 and C1 controls and DEL, controls of writing direction show the rest in another order,
// and a reader does not see characters of no width and tags.
[[nodiscard]] bool IsControl(std::string_view character);

// `text` on one line, for people: controls are spaces, what is not UTF-8 is '?'. As much of it as
// fits into `most` bytes.
[[nodiscard]] std::string OneLine(std::string_view text, std::size_t most);

// How many bytes at the start of `text` stand for themselves in a JSON string, as far as that is
// told fast: ASCII but for quotes, backslashes and control characters. Nearly all that we read and
// write is of this kind.
[[nodiscard]] std::size_t PlainPrefix(std::string_view text);

}  // namespace json

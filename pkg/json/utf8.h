// Checks and cuts UTF-8 text. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace json {

// Returns whether `text` is UTF-8 by RFC 3629: no surrogates, no overlong forms.
bool IsUtf8(std::string_view text);

// Returns the number of bytes of the first character, 1 to 4. 0 if it is not UTF-8. REQUIRES:
// `text` is not empty.
std::size_t CharacterLength(std::string_view text);

// Returns the longest start of `text` that fits into `most` bytes, without half of a character.
// Half of a character would be written as another one, and never compare equal to the original.
std::string_view Prefix(std::string_view text, std::size_t most);

// Returns whether a character (1 to 4 bytes of UTF-8) can falsify a displayed line. Terminals obey
// C0 and C1 controls and DEL; direction controls change the order of the text; zero-width
// characters and tags are invisible.
bool IsControl(std::string_view character);

// Returns `text` on one line, for people. Controls become spaces, invalid UTF-8 becomes '?'. At
// most `most` bytes.
std::string OneLine(std::string_view text, std::size_t most);

// Returns how many bytes at the start of `text` need no escape in a JSON string: ASCII without
// quotes, backslashes and control characters. A fast path, because most text is of this kind; the
// true number may be larger.
std::size_t PlainPrefix(std::string_view text);

}  // namespace json

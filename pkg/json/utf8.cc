#include "pkg/json/utf8.h"

#include <cstdint>
#include <cstring>

namespace json {

namespace {

constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
constexpr std::uint64_t kHighBits = 0x80 * kEach;

// Returns non-zero if one of the eight bytes is below `limit`, which is at most 0x80.
constexpr std::uint64_t AnyBelow(std::uint64_t bytes, std::uint64_t limit) {
  return (bytes - limit * kEach) & ~bytes & kHighBits;
}

// Returns the number of bytes at the start of `text` before one that stops. Reads eight at a time:
// `stops_in` returns whether one of them may stop, `stops` whether a byte does.
template <typename StopsIn, typename Stops>
std::size_t PrefixBefore(std::string_view text, StopsIn stops_in, Stops stops) {
  std::size_t length = 0;
  for (std::uint64_t bytes = 0; length + sizeof bytes <= text.size(); length += sizeof bytes) {
    std::memcpy(&bytes, text.data() + length, sizeof bytes);
    if (stops_in(bytes) != 0) break;
  }
  while (length < text.size() && !stops(static_cast<unsigned char>(text[length]))) ++length;
  return length;
}

std::size_t AsciiPrefix(std::string_view text) {
  return PrefixBefore(
      text, [](std::uint64_t bytes) { return bytes & kHighBits; },
      [](unsigned char c) { return c >= 0x80; });
}

}  // namespace

std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;   // Overlong below.
    const unsigned high = first == 0xED ? 0x9F : 0xBF;  // Surrogates above.
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;  // Above U+10FFFF.
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::size_t PlainPrefix(std::string_view text) {
  return PrefixBefore(
      text,
      [](std::uint64_t bytes) {
        return (bytes & kHighBits) | AnyBelow(bytes, 0x20) | AnyBelow(bytes ^ ('"' * kEach), 1) |
               AnyBelow(bytes ^ ('\\' * kEach), 1);
      },
      [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c >= 0x80; });
}

std::string_view Prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (most > 0 && continues(most)) --most;
  return text.substr(0, most);
}

bool IsControl(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < ' ' || byte(0) == 0x7F;
  unsigned code = 0;
  if (character.size() == 2) code = (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  if (character.size() == 3) {
    code = (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  }
  if (character.size() == 4) {
    code = (byte(0) & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 |
           (byte(3) & 0x3FU);
  }
  return (code >= 0x80 && code <= 0x9F) || code == 0x061C ||  // C1; Arabic letter mark
         (code >= 0x200B && code <= 0x200F) ||                // Zero width; marks of direction
         (code >= 0x2028 && code <= 0x202E) ||  // Separators; embeddings and overrides
         (code >= 0x2060 && code <= 0x206F) ||  // Word joiner, invisible operators, isolates
         code == 0xFEFF ||                      // Byte order mark
         (code >= 0xE0000 && code <= 0xE007F);  // Tags
}

std::string OneLine(std::string_view text, std::size_t most) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const std::string_view shown = length == 0 ? "?" : IsControl(character) ? " " : character;
    if (line.size() + shown.size() > most) break;
    line += shown;
    text.remove_prefix(character.size());
  }
  return line;
}

bool IsUtf8(std::string_view text) {
  for (;;) {
    text.remove_prefix(AsciiPrefix(text));
    if (text.empty()) return true;
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

}  // namespace json

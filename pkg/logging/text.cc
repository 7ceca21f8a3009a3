#include "pkg/logging/text.h"

#include "pkg/json/utf8.h"

namespace logging {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The code point of a character of two or three bytes; 0 for others, none of which is looked for.
unsigned CodePoint(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2) return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  if (character.size() == 3) {
    return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  }
  return 0;
}

bool Deceives(std::string_view character) {
  if (character.size() == 1) return character[0] == '\x7F';
  const unsigned code = CodePoint(character);
  return (code >= 0x80 && code <= 0x9F) || code == 0x061C ||  // C1; Arabic letter mark
         code == 0x200E || code == 0x200F ||                  // Left-to-right mark and the other
         (code >= 0x202A && code <= 0x202E) ||                // Embeddings and overrides
         (code >= 0x2066 && code <= 0x2069) ||                // Isolates
         code == 0x2028 || code == 0x2029;                    // Line and paragraph separator
}

}  // namespace

std::string Clean(std::string_view text) {
  std::string cleaned;
  while (!text.empty()) {
    const std::size_t length = json::CharacterLength(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const std::string_view shown = length == 0 || Deceives(character) ? kReplacement : character;
    if (cleaned.size() + shown.size() > kValueBytesMax) {
      return cleaned + "...(" + std::to_string(text.size()) + " more bytes)";
    }
    cleaned += shown;
    text.remove_prefix(character.size());
  }
  return cleaned;
}

std::string Escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '"':
        escaped += "\\\"";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\r':
        escaped += "\\r";
        break;
      case '\t':
        escaped += "\\t";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20) {
          escaped += c;
        } else {
          escaped += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xFU]};
        }
      }
    }
  }
  return escaped;
}

}  // namespace logging

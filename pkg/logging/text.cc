#include "pkg/logging/text.h"

#include <algorithm>

#include "pkg/json/utf8.h"

namespace logging {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Escape() handles C0.
bool Deceives(std::string_view character) {
  const bool is_c0 = character.size() == 1 && character[0] != '\x7F';
  return !is_c0 && json::IsControl(character);
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

std::string Quote(std::string_view text) {
  const auto needs_escape = [](char c) {
    return c == '`' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  };
  const bool has_quotes = text.find('"') != std::string_view::npos;
  if (!has_quotes || std::ranges::any_of(text, needs_escape)) return '"' + Escape(text) + '"';
  return '`' + std::string(text) + '`';
}

}  // namespace logging

// Texts of others, cut and cleaned (S6, S9), and UTF-8 against another library's (nlohmann's)
// verdict:
//  - both have the same idea of what is UTF-8;
//  - a line is one line without controls, in UTF-8, within its bound, and made of itself is itself;
//  - a prefix is the longest one that fits and ends with a whole character;
//  - what is written of a text as JSON is read as the text, or with U+FFFD for what was not UTF-8,
//    and from then on it stays: what we write we read back equal.
#include "pkg/json/utf8.h"

#include <nlohmann/json.hpp>

#include "pkg/json/value.h"
#include "test/fuzz/hostile.h"

namespace {

bool TheyTakeItForUtf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void CheckLine(const std::string& text, std::size_t most) {
  const std::string line = json::OneLine(text, most);
  CHECK(line.size() <= most);
  CHECK(TheyTakeItForUtf8(line));
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view character = rest.substr(0, json::CharacterLength(rest));
    CHECK(!json::IsControl(character));
    CHECK(character != "\n" && character != "\r" && character != "\x1b" && character != "\x7f");
    rest.remove_prefix(character.size());
  }
  fuzz::CheckSame(json::OneLine(line, most), line);
}

void CheckPrefix(const std::string& text, std::size_t most) {
  const std::string_view prefix = json::Prefix(text, most);
  CHECK(prefix.size() <= most && text.starts_with(prefix));
  if (!json::IsUtf8(text)) return;
  CHECK(json::IsUtf8(prefix));
  const std::string_view rest = std::string_view(text).substr(prefix.size());
  CHECK(rest.empty() || prefix.size() + json::CharacterLength(rest) > most);
}

void CheckWritten(const std::string& text) {
  const std::string written = json::Serialize(json::Value(text));
  const auto read = json::Parse(written);
  CHECK(read && read->IsString());
  if (json::IsUtf8(text)) fuzz::CheckSame(read->AsString(), text);
  CHECK(json::IsUtf8(read->AsString()));
  fuzz::CheckSame(json::Serialize(*read), written);
}

}  // namespace

FUZZ_TARGET(utf8, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const auto most = input.ConsumeIntegralInRange<std::size_t>(0, 300);
  const std::string text = input.ConsumeBool() ? fuzz::Text(input) + fuzz::Text(input)
                                               : input.ConsumeRemainingBytesAsString();
  CHECK(json::IsUtf8(text) == TheyTakeItForUtf8(text));
  CHECK(json::PlainPrefix(text) <= text.size());
  CheckLine(text, most);
  CheckPrefix(text, most);
  CheckWritten(text);
}

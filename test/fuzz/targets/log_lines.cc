// Log lines, of fields that others worded:
//  - a line of text, of JSON or of the journal is one line, in UTF-8, without controls;
//  - a value has its bound: 8 KiB, escapes and the note of what was left out aside;
//  - a line of JSON reads back as what it says;
//  - a field of the journal has a name that the journal takes.
#include <cctype>

#include "pkg/json/utf8.h"
#include "pkg/json/value.h"
#include "pkg/logging/lines.h"
#include "pkg/logging/text.h"
#include "test/fuzz/hostile.h"

namespace {

using logging::Clean;

void CheckLine(std::string_view line) {
  while (!line.empty()) {
    const std::size_t length = json::CharacterLength(line);
    CHECK(length > 0);
    CHECK(!json::IsControl(line.substr(0, length)));
    line.remove_prefix(length);
  }
}

// What Escape() wrote, as a reader of C would take it.
std::string Unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (text.front() != '\\') {
      CHECK(text.front() != '"');
      plain += text.front();
      text.remove_prefix(1);
      continue;
    }
    CHECK(text.size() > 1);
    const char c = text[1];
    if (c == 'x') {
      plain += static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16));
      text.remove_prefix(4);
      continue;
    }
    plain += c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
    text.remove_prefix(2);
  }
  return plain;
}

void CheckJournalName(std::string_view field) {
  const std::string_view name = field.substr(0, field.find('='));
  CHECK(!name.empty() && name.size() <= 64);
  CHECK(name.front() >= 'A' && name.front() <= 'Z');
  for (const char c : name) {
    CHECK((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  }
}

}  // namespace

FUZZ_TARGET(log_lines, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  std::string key = "k" + input.ConsumeRandomLengthString(80);  // Ours: letters and digits.
  std::erase_if(key, [](unsigned char c) { return c >= 0x80 || std::isalnum(c) == 0; });
  const std::string message = fuzz::Text(input);
  const std::string long_one = std::string(input.ConsumeIntegralInRange<std::size_t>(0, 9000), 'a');
  const std::string value = long_one + input.ConsumeRemainingBytesAsString();
  const logging::Record record = {.message = message,
                                  .fields = {{key, value}, {"msg", "m"}, {"podName", message}}};

  const std::string cleaned = Clean(value);
  CHECK(cleaned.size() <= logging::kValueBytesMax + 40);
  CHECK(json::IsUtf8(cleaned));
  fuzz::CheckSame(Unescape(logging::Escape(cleaned)), cleaned);

  CheckLine(logging::TextLine(record));
  const std::string line = logging::JsonLine(record);
  CheckLine(line);
  const auto object = json::Parse(line);
  CHECK(object);
  fuzz::CheckSame((*object)["podName"].AsString(), Clean(message));
  fuzz::CheckSame((*object)["msg"].AsString(), Clean(message));
  fuzz::CheckSame((*object)["msg_"].AsString(), "m");
  for (const std::string& field : logging::JournalFields(record, "cdom")) {
    CheckLine(field);
    CheckJournalName(field);
  }
}

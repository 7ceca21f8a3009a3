#include "pkg/logging/lines.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <set>

#include "pkg/base/rfc3339.h"
#include "pkg/json/value.h"
#include "pkg/logging/text.h"

namespace logging {
namespace {

// The names of a level in klog, in JSON, and in syslog(3).
struct LevelNames {
  char letter;
  const char* name;
  const char* priority;
};
const LevelNames& NamesOf(base::LogLevel level) {
  static constexpr std::array<LevelNames, 4> kNames = {
      {{'E', "error", "3"}, {'W', "warning", "4"}, {'I', "info", "6"}, {'D', "debug", "7"}}};
  return kNames.at(std::min(static_cast<std::size_t>(level), kNames.size() - 1));
}

std::string LocalTime(base::Clock::WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm local = {};
  ::localtime_r(&seconds, &local);
  std::array<char, sizeof "1121 03:22:51"> date = {};
  std::strftime(date.data(), date.size(), "%m%d %H:%M:%S", &local);
  const std::string micros = std::to_string((time - whole).count());
  return std::string(date.data()) + "." + std::string(6 - micros.size(), '0') + micros;
}

std::string MessageWithFields(const Record& record) {
  std::string text = Escape(Clean(record.message));
  for (const base::LogField& field : record.fields) {
    text += " " + Escape(Clean(field.key)) + "=" + Quote(Clean(field.value));
  }
  return text;
}

// "podName" is POD_NAME, "lastURL" is LAST_URL: the journal takes capitals, digits and '_'.
std::string JournalName(std::string_view key) {
  std::string name = "CDOM_";
  char last = '_';
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_digit = c >= '0' && c <= '9';
    if (is_upper && last >= 'a' && last <= 'z') name += '_';
    if (is_lower) name += static_cast<char>(c - 'a' + 'A');
    if (is_upper || is_digit) name += c;
    if (!is_lower && !is_upper && !is_digit) name += '_';
    last = c;
  }
  constexpr std::size_t kNameBytesMax = 64;
  return name.substr(0, kNameBytesMax);
}

}  // namespace

std::string TextLine(const Record& record) {
  return NamesOf(record.level).letter + LocalTime(record.time) + " " + MessageWithFields(record);
}

std::string JsonLine(const Record& record) {
  static const std::set<std::string, std::less<>> kOurs = {"ts", "level", "msg"};
  json::Value object = json::Value::Object({{"ts", base::FormatMicros(record.time)},
                                            {"level", NamesOf(record.level).name},
                                            {"msg", Clean(record.message)}});
  for (const base::LogField& field : record.fields) {
    const std::string key(field.key);
    object[kOurs.contains(key) ? key + "_" : key] = Clean(field.value);
  }
  return json::Serialize(object);
}

std::vector<std::string> JournalFields(const Record& record, std::string_view identifier) {
  std::vector<std::string> fields = {"MESSAGE=" + MessageWithFields(record),
                                     std::string("PRIORITY=") + NamesOf(record.level).priority,
                                     "SYSLOG_IDENTIFIER=" + std::string(identifier)};
  for (const base::LogField& field : record.fields) {
    fields.push_back(JournalName(field.key) + "=" + Escape(Clean(field.value)));
  }
  return fields;
}

}  // namespace logging

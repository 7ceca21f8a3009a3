#include "controller/api/imex_report.h"

#include <algorithm>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace api {

namespace {

constexpr std::size_t kBytesMax = 1U << 10;
constexpr std::size_t kWordMax = 32;
constexpr std::int64_t kIndexMax = 9'999;  // Names of daemons have four digits.
constexpr std::int64_t kCountMax = 1'000'000;

// Returns a state, a version or a time. Empty if the text is too long or has other characters.
std::string Word(json::View text) {
  const std::string_view word = text.AsString();
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || c == '+';
  };
  const bool is_word = word.size() <= kWordMax && std::ranges::all_of(word, fits);
  return std::string(is_word ? word : "");
}

int Number(json::View number, std::int64_t most, int otherwise) {
  const auto value = number.AsInt();
  return value && *value >= 0 && *value <= most ? static_cast<int>(*value) : otherwise;
}

}  // namespace

std::string Encode(const ImexReport& report) {
  using json::Value;
  Value object = Value::Object({{"index", report.index},
                                {"state", report.state},
                                {"version", report.version},
                                {"started", report.started},
                                {"restarts", report.restarts}});
  if (report.in_use) object["inUse"] = true;
  if (report.peers_unanswered) object["peersUnanswered"] = true;
  if (report.peers_known) {
    Value indices = Value::Array();
    for (const int index : report.unreachable) {
      if (indices.items().size() < kUnreachableMax) indices.Append(index);
    }
    object["unreachable"] = std::move(indices);
    object["unreachableCount"] = report.unreachable_count;
  }
  return json::Serialize(object);
}

std::optional<ImexReport> DecodeImexReport(std::string_view text) {
  if (text.empty() || text.size() > kBytesMax) return {};
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return {};
  const json::View object = *parsed;
  if (!object.IsObject()) return {};
  ImexReport report = {.index = Number(object["index"], kIndexMax, -1),
                       .state = Word(object["state"]),
                       .version = Word(object["version"]),
                       .started = Word(object["started"]),
                       .restarts = Number(object["restarts"], kCountMax, 0),
                       .in_use = object["inUse"].AsBool(),
                       .peers_known = object["unreachable"].IsArray(),
                       .peers_unanswered = object["peersUnanswered"].AsBool()};
  if (report.state.empty()) return {};
  object["unreachable"].ForEach([&](json::View item) {
    const int index = Number(item, kIndexMax, -1);
    if (index >= 0 && report.unreachable.size() < kUnreachableMax) {
      report.unreachable.push_back(index);
    }
  });
  const int named = static_cast<int>(report.unreachable.size());
  if (report.peers_known) {
    report.unreachable_count = std::max(named, Number(object["unreachableCount"], kIndexMax, 0));
  }
  return report;
}

}  // namespace api

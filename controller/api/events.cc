#include "controller/api/events.h"

#include <algorithm>
#include <optional>

#include "pkg/base/rfc3339.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"

namespace api {

namespace {

// The admission plugin for pod security lists all that it refuses.
constexpr std::size_t kWordsMax = 400;
// Length of the random end of a name that the API server generates.
constexpr std::size_t kGeneratedLength = 5;

// Returns when the Event was seen last. The DaemonSet controller sets the fields of the older API.
std::optional<base::Clock::WallTime> LastSeen(json::View event) {
  for (const json::View time :
       {event["series"]["lastObservedTime"], event["deprecatedLastTimestamp"], event["eventTime"],
        event["metadata"]["creationTimestamp"]}) {
    if (const auto seen = base::ParseTime(time.AsString())) return seen;
  }
  return std::nullopt;
}

// A recorder that counts similar Events begins its note with this.
constexpr std::string_view kCombined = "(combined from similar events): ";

std::string_view NoteOf(json::View event) {
  std::string_view note = event["note"].AsString();
  if (note.starts_with(kCombined)) note.remove_prefix(kCombined.size());
  while (note.ends_with('.')) note.remove_suffix(1);
  return note;
}

std::string WithoutPodName(std::string words, std::string_view daemon_set) {
  const std::string prefix = std::string(daemon_set) + "-";
  for (std::size_t at = words.find(prefix); at != std::string::npos; at = words.find(prefix, at)) {
    at += prefix.size();
    const std::size_t end = words.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", at);
    if (std::min(end, words.size()) - at == kGeneratedLength) {
      words.replace(at, kGeneratedLength, "*");
    }
  }
  return words;
}

}  // namespace

std::string DecodeCreationTrouble(std::string_view events, std::string_view daemon_set) {
  const auto list = json::ParseRepaired(events);
  if (!list) return "";
  std::string words;
  std::optional<base::Clock::WallTime> newest;
  (*list)["items"].ForEach([&](json::View event) {
    const auto seen = LastSeen(event);
    const bool is_failure = event["reason"].AsString() == "FailedCreate";
    if (!is_failure && event["reason"].AsString() != "SuccessfulCreate") return;
    // One attempt may create some pods and fail for others, within one second.
    const bool is_news = seen && (!newest || *newest < *seen || (*newest == *seen && is_failure));
    if (!is_news) return;
    newest = seen;
    words = is_failure ? NoteOf(event) : "";
  });
  return json::OneLine(WithoutPodName(std::move(words), daemon_set), kWordsMax);
}

}  // namespace api

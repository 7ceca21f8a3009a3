#include "test/bench/coverage.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bench {

namespace {

using Interval = std::pair<WallTime, WallTime>;

Blind BlindBetween(std::vector<Interval> watches, WallTime from, WallTime until) {
  Blind blind;
  std::ranges::sort(watches);
  watches.emplace_back(until, until);
  WallTime seen = from;
  for (const auto& [begin, end] : watches) {
    const auto gap = std::min(begin, until) - seen;
    if (gap > std::chrono::microseconds(0)) {
      blind.time += gap;
      blind.longest = std::max(blind.longest, gap);
      ++blind.gaps;
    }
    seen = std::max(seen, end);
  }
  return blind;
}

}  // namespace

std::map<std::string, Blind> FindBlind(std::span<const AuditEvent> events, std::string_view user,
                                       WallTime from, WallTime until) {
  std::map<std::string, std::vector<Interval>> watches;
  for (const AuditEvent& event : events) {
    if (event.user != user || event.verb != "watch" || !event.Succeeded()) continue;
    watches[event.resource + "/" + event.ns].emplace_back(event.received, event.completed);
  }
  std::map<std::string, Blind> blind;
  for (auto& [collection, intervals] : watches) {
    blind[collection] = BlindBetween(std::move(intervals), from, until);
  }
  return blind;
}

}  // namespace bench

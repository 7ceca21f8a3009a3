// How much of the time a collection was watched, as the API server saw it. Pure.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "test/bench/audit.h"

namespace bench {

struct Blind {
  std::chrono::microseconds time{0};  // Without a watch.
  std::chrono::microseconds longest{0};
  int gaps = 0;
};

// By resource and namespace, of each collection that `user` watched between `from` and `until`. A
// watch counts from its request to its end; of those that have not ended nothing is known.
[[nodiscard]] std::map<std::string, Blind> FindBlind(std::span<const AuditEvent> events,
                                                     std::string_view user, WallTime from,
                                                     WallTime until);

}  // namespace bench

// How much of the time a collection was not watched. Pure.
//
// The API server's audit log is the source.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "test/bench/audit.h"

namespace bench {

struct Blind {
  std::chrono::microseconds time{0};  // Time without a watch.
  std::chrono::microseconds longest{0};
  int gaps = 0;
};

// Returns the gaps by resource and namespace, for each collection that `user` watched between
// `from` and `until`. A watch counts from its request to its end. Watches that have not ended are
// unknown.
std::map<std::string, Blind> FindBlind(std::span<const AuditEvent> events, std::string_view user,
                                       WallTime from, WallTime until);

}  // namespace bench

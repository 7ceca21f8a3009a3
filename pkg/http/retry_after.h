#pragma once

#include <chrono>
#include <ctime>
#include <optional>
#include <string>

namespace http {

// Parses a Retry-After header: seconds, or an HTTP date, which proxies send. Clamps it to [0, 120]
// s, so that a wrong clock or server cannot stop us for longer. Empty if it is neither.
std::optional<std::chrono::seconds> ParseRetryAfter(const std::string& value, std::time_t now);

}  // namespace http

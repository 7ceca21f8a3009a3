#pragma once

#include <chrono>
#include <ctime>
#include <optional>
#include <string>

namespace http {

// A Retry-After header: seconds or an HTTP date, which proxies send. Clamped to [0, 120] s, so that
// neither a wrong clock nor a wrong server stops us for longer. Nothing if it is neither.
[[nodiscard]] std::optional<std::chrono::seconds> ParseRetryAfter(const std::string& value,
                                                                  std::time_t now);

}  // namespace http

// Parses durations in Go's format, as Kubernetes uses in flags and files.
#pragma once

#include <chrono>
#include <string_view>

#include "pkg/base/result.h"

namespace base {

// Parses for example "15s", "1m30s" or "500ms". Returns kInvalid, with an example, for any other
// text, and for more than 1000 hours.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace base

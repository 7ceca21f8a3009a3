// Durations as Go writes them, which Kubernetes has in flags and files: "15s", "1m30s", "500ms".
#pragma once

#include <chrono>
#include <string_view>

#include "pkg/base/result.h"

namespace base {

// kInvalid, with what a duration looks like, for anything else and for more than 1000 hours.
[[nodiscard]] Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace base

// The times that Kubernetes objects carry: "2026-11-21T03:04:05Z", or with six digits of fraction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"

namespace base {

[[nodiscard]] std::string FormatSeconds(Clock::WallTime time);  // metav1.Time
[[nodiscard]] std::string FormatMicros(Clock::WallTime time);   // metav1.MicroTime
// For people: "22:12:44 UTC".
[[nodiscard]] std::string FormatTimeOfDay(Clock::WallTime time);

// UTC only ("Z"), as the API server writes it, with or without a fraction; empty for anything else.
[[nodiscard]] std::optional<Clock::WallTime> ParseTime(std::string_view text);

}  // namespace base

// Formats and parses times of Kubernetes objects.
//
// Such as "2026-11-21T03:04:05Z", or with six digits of fraction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"

namespace base {

std::string FormatSeconds(Clock::WallTime time);  // metav1.Time
std::string FormatMicros(Clock::WallTime time);   // metav1.MicroTime
// Returns a time for people: "22:12:44 UTC".
std::string FormatTimeOfDay(Clock::WallTime time);

// Parses UTC ("Z") only, as the API server writes it, with or without a fraction. Empty for any
// other text.
std::optional<Clock::WallTime> ParseTime(std::string_view text);

}  // namespace base

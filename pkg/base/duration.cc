#include "pkg/base/duration.h"

#include <algorithm>
#include <array>
#include <optional>

namespace base {

namespace {

using std::chrono::milliseconds, std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  nanoseconds length;
};
constexpr std::array kUnits = {Unit{"ms", milliseconds(1)}, Unit{"s", std::chrono::seconds(1)},
                               Unit{"m", std::chrono::minutes(1)},
                               Unit{"h", std::chrono::hours(1)}};
constexpr nanoseconds kMost = std::chrono::hours(1000);

// Removes the digits at the front of `text` and returns them.
std::string_view TakeDigits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

// The same for a part such as "1.5h". Uses integers, because a double cannot hold 1.001.
std::optional<nanoseconds> TakePart(std::string_view& text) {
  const std::string_view whole = TakeDigits(text);
  const bool has_point = text.starts_with('.');
  if (has_point) text.remove_prefix(1);
  const std::string_view fraction = has_point ? TakeDigits(text) : "";
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](const Unit& known) { return text.starts_with(known.name); });
  if (unit == kUnits.end() || (whole.empty() && fraction.empty())) return std::nullopt;
  text.remove_prefix(unit->name.size());
  nanoseconds::rep number = 0;
  for (const char digit : whole) {
    number = number * 10 + (digit - '0');
    if (number > kMost / unit->length) return std::nullopt;
  }
  nanoseconds part = number * unit->length;
  nanoseconds place = unit->length;
  for (const char digit : fraction) part += (place /= 10) * (digit - '0');
  return part;
}

}  // namespace

Result<milliseconds> ParseDuration(std::string_view text) {
  const auto wrong = [] { return Invalid("use a duration such as 15s, 1m30s or 500ms"); };
  if (text == "0") return milliseconds(0);
  if (text.empty()) return wrong();
  nanoseconds total{0};
  while (!text.empty()) {
    const std::optional<nanoseconds> part = TakePart(text);
    if (!part) return wrong();
    total += *part;
    if (total >= kMost + milliseconds(1)) return wrong();
  }
  return std::chrono::floor<milliseconds>(total);
}

}  // namespace base

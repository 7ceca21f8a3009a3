#include "pkg/base/duration.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace base {

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  static const std::vector<std::pair<std::string, double>> kUnits = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  const auto wrong = [&] {
    return Fail(ErrorCode::kInvalid, "use a duration such as 15s, 1m30s or 500ms");
  };
  double total = 0;
  const char* position = text.data();
  const char* end = text.data() + text.size();
  if (position == end) return wrong();
  if (text == "0") return std::chrono::milliseconds(0);
  while (position != end) {
    double number = 0;
    const auto [stop, error] = std::from_chars(position, end, number);
    if (error != std::errc() || number < 0) return wrong();
    const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
    const auto unit = std::ranges::find_if(
        kUnits, [&](const auto& candidate) { return rest.starts_with(candidate.first); });
    if (unit == kUnits.end()) return wrong();
    total += number * unit->second;
    position = stop + unit->first.size();
  }
  constexpr double kMost = 1000.0 * 3'600'000;  // 1000 hours.
  if (!(total <= kMost)) return wrong();        // Nor is "nans" a duration.
  return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

}  // namespace base

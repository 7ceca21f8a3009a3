#include "pkg/base/rfc3339.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "pkg/base/number.h"

namespace base {

namespace {

using std::chrono::floor;

std::string Format(Clock::WallTime time, bool micros) {
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  std::string result(text.data(), static_cast<std::size_t>(length));
  if (micros) {
    std::snprintf(text.data(), text.size(), ".%06d",
                  static_cast<int>(std::chrono::microseconds(clock.subseconds()).count()));
    result += text.data();
  }
  return result + "Z";
}

// Returns the number in the digits from `position` on. Empty if one is not a digit.
std::optional<int> Digits(std::string_view text, std::size_t position, std::size_t count) {
  const std::string_view digits = text.substr(position, count);
  return digits.starts_with('-') ? std::nullopt : ParseNumber<int>(digits);
}

}  // namespace

std::string FormatSeconds(Clock::WallTime time) { return Format(time, false); }
std::string FormatMicros(Clock::WallTime time) { return Format(time, true); }
std::string FormatTimeOfDay(Clock::WallTime time) {
  return Format(time, false).substr(11, 8) + " UTC";
}

std::optional<Clock::WallTime> ParseTime(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size() || text.back() != 'Z') return {};
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != 'd' && kShape[i] != text[i]) return {};
  }
  const auto year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const auto hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return {};
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return {};

  Clock::WallTime time = std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                         std::chrono::minutes(*minute) + std::chrono::seconds(*second);
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  if (fraction.empty()) return time;
  if (fraction.front() != '.' || fraction.size() < 2 || fraction.size() > 10) return {};
  fraction.remove_prefix(1);
  auto unit = std::chrono::microseconds(100'000);
  for (const char digit : fraction) {
    if (digit < '0' || digit > '9') return {};
    time += unit * (digit - '0');
    unit /= 10;
  }
  return time;
}

}  // namespace base

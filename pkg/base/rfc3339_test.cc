#include "pkg/base/rfc3339.h"

#include <gtest/gtest.h>

#include <random>

namespace base {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

Clock::WallTime Time(std::chrono::year_month_day date, microseconds since_midnight) {
  return sys_days(date) + since_midnight;
}

TEST(Rfc3339, TimeOfDay_IsInUtc) {
  const Clock::WallTime noon = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) +
                               std::chrono::hours(12) + std::chrono::milliseconds(1'900);
  EXPECT_EQ(FormatTimeOfDay(noon), "12:00:01 UTC");
}

TEST(Rfc3339, TimesAreWrittenAsKubernetesWritesThem) {
  const Clock::WallTime time =
      Time(year(2026) / 11 / 21, hours(3) + minutes(4) + seconds(5) + microseconds(67));
  EXPECT_EQ(FormatSeconds(time), "2026-11-21T03:04:05Z");
  EXPECT_EQ(FormatMicros(time), "2026-11-21T03:04:05.000067Z");
  EXPECT_EQ(FormatSeconds(Time(year(1970) / 1 / 1, microseconds(0))), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatMicros(Time(year(1970) / 1 / 1, microseconds(-1))),
            "1969-12-31T23:59:59.999999Z");
}

TEST(Rfc3339, FractionMayBeAbsentShortOrFinerThanWeKeep) {
  const Clock::WallTime whole = Time(year(2024) / 2 / 29, hours(23) + minutes(59) + seconds(59));
  EXPECT_EQ(ParseTime("2024-02-29T23:59:59Z"), whole);
  EXPECT_EQ(ParseTime("2024-02-29T23:59:59.5Z"), whole + microseconds(500'000));
  EXPECT_EQ(ParseTime("2024-02-29T23:59:59.000001Z"), whole + microseconds(1));
  EXPECT_EQ(ParseTime("2024-02-29T23:59:59.123456789Z"), whole + microseconds(123'456));
  EXPECT_EQ(ParseTime("2016-12-31T23:59:60Z"), Time(year(2017) / 1 / 1, microseconds(0)))
      << "a leap second";
}

TEST(Rfc3339, AnythingElseIsNoTime) {
  for (const char* text : {"",
                           "Z",
                           "2026-11-21",
                           "2026-11-21T03:04:05",
                           "2026-11-21T03:04:05+00:00",
                           "2026-11-21 03:04:05Z",
                           "2026-11-21t03:04:05Z",
                           "2026-02-29T03:04:05Z",
                           "2026-00-21T03:04:05Z",
                           "2026-13-21T03:04:05Z",
                           "2026-11-31T03:04:05Z",
                           "2026-11-21T24:04:05Z",
                           "2026-11-21T03:60:05Z",
                           "2026-11-21T03:04:61Z",
                           "2026-11-21T03:04:05.Z",
                           "2026-11-21T03:04:05,5Z",
                           "2026-11-21T03:04:05.5aZ",
                           "2026-11-21T03:04:05.0123456789Z",
                           "2026-11-21T03:04:05ZZ",
                           "-026-11-21T03:04:05Z",
                           "2026-11-21T-3:04:05Z",
                           "2026-11-21T03:+4:05Z",
                           "2026-11-21T03: 4:05Z",
                           "02026-11-21T03:04:05Z",
                           "2026-11-21T3:04:05Z",
                           "yesterday, at a quarter pZ"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

TEST(Rfc3339, WhatIsWrittenIsReadBack) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Clock::WallTime time =
        Time(year(1970) / 1 / 1, microseconds(random() % (8000ULL * 366 * 86'400 * 1'000'000)));
    EXPECT_EQ(ParseTime(FormatMicros(time)), time);
    EXPECT_EQ(ParseTime(FormatSeconds(time)), std::chrono::floor<seconds>(time));
  }
}

}  // namespace
}  // namespace base

#include "pkg/base/duration.h"

#include <gtest/gtest.h>

namespace base {
namespace {

using std::chrono::milliseconds;

TEST(ParseDuration, DurationsOfGoAreRead) {
  EXPECT_EQ(ParseDuration("15s"), milliseconds(15'000));
  EXPECT_EQ(ParseDuration("1m30s"), milliseconds(90'000));
  EXPECT_EQ(ParseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParseDuration("1.5h"), milliseconds(5'400'000));
  EXPECT_EQ(ParseDuration("0s"), milliseconds(0));
  EXPECT_EQ(ParseDuration("0"), milliseconds(0));
  EXPECT_EQ(ParseDuration("1000h"), milliseconds(3'600'000'000));
  EXPECT_EQ(ParseDuration(".5s1.m"), milliseconds(60'500));
}

TEST(ParseDuration, NoMillisecondIsLost) {
  EXPECT_EQ(ParseDuration("1.001s"), milliseconds(1001));
  EXPECT_EQ(ParseDuration("4.35s"), milliseconds(4350));
  EXPECT_EQ(ParseDuration("0.000000000001h"), milliseconds(0));
}

TEST(ParseDuration, AnythingElseIsRefused) {
  for (const char* text : {"", "15", "s", "15 s", "15x", "-5s", "1m-5s", "1m30", "1001h", "infs",
                           "nans", "nanms", "1e9h", "1e1s", ".", ".s", "1..5s", "0x1s", " 15s"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace base

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "pkg/json/value.h"
#include "pkg/logging/lines.h"

namespace logging {
namespace {

using base::LogLevel;

constexpr base::Clock::WallTime kTime = std::chrono::sys_days(std::chrono::year(2026) / 11 / 21) +
                                        std::chrono::hours(3) + std::chrono::minutes(22) +
                                        std::chrono::seconds(51) + std::chrono::microseconds(1'203);

class LogLines : public ::testing::Test {
 protected:
  LogLines() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(LogLines, TextIsOneLineAsKlogWritesIt) {
  struct Row {
    LogLevel level;
    std::string want;
  };
  const std::vector<Row> rows = {
      {LogLevel::kError, "E1121 03:22:51.001203 Done"},
      {LogLevel::kWarning, "W1121 03:22:51.001203 Done"},
      {LogLevel::kInfo, "I1121 03:22:51.001203 Done"},
      {LogLevel::kObjects, "D1121 03:22:51.001203 Done"},
      {LogLevel::kWatches, "D1121 03:22:51.001203 Done"},
      {LogLevel::kRequests, "D1121 03:22:51.001203 Done"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(TextLine({.level = row.level, .time = kTime, .message = "Done"}), row.want);
  }
  EXPECT_EQ(TextLine({.time = kTime,
                      .message = "Created DaemonSet",
                      .fields = {{.key = "name", .value = "a\n\"b\""}, {.key = "empty"}}}),
            R"(I1121 03:22:51.001203 Created DaemonSet name="a\n\"b\"" empty="")");
}

TEST_F(LogLines, JsonIsOneObjectWhoseFieldsCannotReplaceOurs) {
  EXPECT_EQ(JsonLine({.level = LogLevel::kWarning,
                      .time = kTime,
                      .message = "Created \"it\"",
                      .fields = {{.key = "name", .value = "a\nb"}, {.key = "msg", .value = "x"}}}),
            R"({"ts":"2026-11-21T03:22:51.001203Z","level":"warning","msg":"Created \"it\"",)"
            R"("name":"a\nb","msg_":"x"})");
}

TEST_F(LogLines, JsonOfAnyBytesCanBeParsed) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string line =
      JsonLine({.time = kTime, .message = "m", .fields = {{.key = "v", .value = bytes}}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(json::Parse(line)) << line;
}

TEST_F(LogLines, JournalHasAFieldForEachKey) {
  const std::vector<std::string> want = {
      R"(MESSAGE=Created podName="a" lastURL="x\ny" 2nd-try="")",
      "PRIORITY=4",
      "SYSLOG_IDENTIFIER=cdom",
      "CDOM_POD_NAME=a",
      "CDOM_LAST_URL=x\\ny",
      "CDOM_2ND_TRY=",
  };
  EXPECT_EQ(JournalFields({.level = LogLevel::kWarning,
                           .time = kTime,
                           .message = "Created",
                           .fields = {{.key = "podName", .value = "a"},
                                      {.key = "lastURL", .value = "x\ny"},
                                      {.key = "2nd-try"}}},
                          "cdom"),
            want);
}

TEST_F(LogLines, JournalPrioritiesAreThoseOfSyslog) {
  const auto priority = [](LogLevel level) {
    return JournalFields({.level = level, .time = kTime}, "cdom").at(1);
  };
  EXPECT_EQ(priority(LogLevel::kError), "PRIORITY=3");
  EXPECT_EQ(priority(LogLevel::kWarning), "PRIORITY=4");
  EXPECT_EQ(priority(LogLevel::kInfo), "PRIORITY=6");
  EXPECT_EQ(priority(LogLevel::kObjects), "PRIORITY=7");
}

}  // namespace
}  // namespace logging

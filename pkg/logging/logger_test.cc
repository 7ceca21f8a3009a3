#include "pkg/logging/logger.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/json/value.h"

namespace logging {
namespace {

// What is written to standard error until All() is called.
class Lines {
 public:
  Lines() { ::testing::internal::CaptureStderr(); }
  static std::vector<std::string> All() {
    std::istringstream text(::testing::internal::GetCapturedStderr());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
};

TEST(Logger, VerbosityAddsObjectsThenWatchesThenRequests) {
  using base::LogLevel;
  struct Row {
    int verbosity;
    std::size_t lines;
  };
  const base::ManualClock clock;
  for (const auto [verbosity, count] :
       std::vector<Row>{{0, 3}, {1, 3}, {2, 4}, {3, 5}, {5, 5}, {6, 6}, {10, 6}}) {
    const Lines lines;
    const auto logger = MakeLogger({.format = Format::kText, .verbosity = verbosity}, clock);
    std::size_t told = 0;
    for (const LogLevel level : {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo,
                                 LogLevel::kObjects, LogLevel::kWatches, LogLevel::kRequests}) {
      logger->Log(level, "A line", {});
      told += logger->Writes(level) ? 1 : 0;
    }
    EXPECT_EQ(Lines::All().size(), count) << "-v=" << verbosity;
    EXPECT_EQ(told, count) << "-v=" << verbosity;
  }
}

TEST(Logger, LinesOfManyThreadsStayWhole) {
  const base::ManualClock clock;
  const Lines lines;
  const auto logger = MakeLogger({.format = Format::kJson}, clock);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < 100; ++n) {
          logger->Info("A line", {{.key = "thread", .value = std::to_string(i)}});
        }
      });
    }
  }
  const std::vector<std::string> all = Lines::All();
  ASSERT_EQ(all.size(), 400U);
  for (const std::string& line : all) ASSERT_TRUE(json::Parse(line)) << line;
}

TEST(Logger, BracesInATextAreNotAFormat) {
  const base::ManualClock clock;
  const Lines lines;
  const auto logger = MakeLogger({.format = Format::kText}, clock);
  logger->Info("{} %v", {{.key = "json", .value = R"({"a":{}} %v)"}});
  const std::vector<std::string> all = Lines::All();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].ends_with(R"( {} %v json=`{"a":{}} %v`)")) << all[0];
}

TEST(Logger, FormatsHaveNames) {
  EXPECT_EQ(ParseFormat("auto"), Format::kAuto);
  EXPECT_EQ(ParseFormat("text"), Format::kText);
  EXPECT_EQ(ParseFormat("json"), Format::kJson);
  EXPECT_EQ(ParseFormat("journal"), Format::kJournal);
  EXPECT_EQ(ParseFormat("xml"), std::nullopt);
}

TEST(Logger, JournalIsKnownByDeviceAndInode) {
  int fds[2] = {};
  ASSERT_EQ(::pipe(fds), 0);
  struct stat status = {};
  ASSERT_EQ(::fstat(fds[1], &status), 0);
  const std::string device = std::to_string(status.st_dev);
  const std::string inode = std::to_string(status.st_ino);
  EXPECT_TRUE(IsJournal(device + ":" + inode, fds[1]));
  EXPECT_FALSE(IsJournal(device + ":" + inode + "0", fds[1]));
  EXPECT_FALSE(IsJournal(inode, fds[1]));
  EXPECT_FALSE(IsJournal("", fds[1]));
  ::close(fds[0]);
  ::close(fds[1]);
  EXPECT_FALSE(IsJournal(device + ":" + inode, fds[1]));
}

TEST(Logger, EveryFormatCanBeMade) {
  const base::ManualClock clock;
  ::testing::internal::CaptureStderr();
  for (const Format format : {Format::kText, Format::kJson, Format::kJournal, Format::kAuto}) {
    MakeLogger({.format = format, .identifier = "logger_test"}, clock)->Info("Hello");
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(" Hello\n"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("msg":"Hello"})"), std::string::npos) << text;
}

}  // namespace
}  // namespace logging

#include "pkg/logging/logger.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/manual_clock.h"
#include "pkg/json/value.h"
#include "pkg/logging/spdlog_logger.h"

namespace logging {
namespace {

class Lines {
 public:
  std::vector<std::string> All() const {
    std::istringstream text(text_.str());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  std::shared_ptr<spdlog::sinks::sink> sink() { return sink_; }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::sinks::sink> sink_ =
      std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
};

TEST(Logger, DebugLinesAreWrittenFromVerbosityFourAndTheOthersAlways) {
  const base::ManualClock clock;
  for (const int verbosity : {0, 3, 4, 9}) {
    Lines lines;
    SpdlogLogger logger(&TextLine, verbosity, clock, lines.sink());
    logger.Error("e");
    logger.Warning("w");
    logger.Info("i");
    logger.Debug("d");
    EXPECT_EQ(lines.All().size(), verbosity < 4 ? 3U : 4U) << "-v=" << verbosity;
  }
}

TEST(Logger, LinesOfManyThreadsStayWhole) {
  const base::ManualClock clock;
  Lines lines;
  SpdlogLogger logger(&JsonLine, 0, clock, lines.sink());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < 100; ++n) {
          logger.Info("A line", {{.key = "thread", .value = std::to_string(i)}});
        }
      });
    }
  }
  ASSERT_EQ(lines.All().size(), 400U);
  for (const std::string& line : lines.All()) ASSERT_TRUE(json::Parse(line)) << line;
}

TEST(Logger, BracesInATextAreNotAFormat) {
  const base::ManualClock clock;
  Lines lines;
  SpdlogLogger logger(&TextLine, 0, clock, lines.sink());
  logger.Info("{} %v", {{.key = "json", .value = R"({"a":{}} %v)"}});
  ASSERT_EQ(lines.All().size(), 1U);
  EXPECT_TRUE(lines.All()[0].ends_with(R"( {} %v json="{\"a\":{}} %v")")) << lines.All()[0];
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

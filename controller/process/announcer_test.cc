#include "controller/process/announcer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

using base::Clock;
using std::chrono::seconds;

// Returns the lines' texts.
std::vector<std::string> Texts(const kube::RecordingLogger& logger) {
  std::vector<std::string> texts;
  for (const auto& line : logger.lines()) texts.push_back(line.text);
  return texts;
}

TEST(Announcer, ReportsAStateOnce) {
  kube::RecordingLogger logger;
  Announcer announcer(logger);
  announcer.Report(Clock::TimePoint(seconds(0)), "Standing by", "the caches are not synced");
  announcer.Report(Clock::TimePoint(seconds(1)), "Standing by", "");
  announcer.Report(Clock::TimePoint(seconds(2)), "Standing by", "");
  announcer.Report(Clock::TimePoint(seconds(3)), "Reconciling", "");
  EXPECT_EQ(Texts(logger),
            (std::vector<std::string>{"Waiting for the caches", "Standing by", "Reconciling"}));
}

TEST(Announcer, REV4_K8_TellsOnlyOfLastingInability) {
  kube::RecordingLogger logger;
  Announcer announcer(logger);
  announcer.Report(Clock::TimePoint(seconds(0)), "Reconciling", "");
  // A moment.
  announcer.Report(Clock::TimePoint(seconds(10)), "Reconciling", "it fails");
  announcer.Report(Clock::TimePoint(seconds(39)), "Reconciling", "it fails");
  announcer.Report(Clock::TimePoint(seconds(40)), "Reconciling", "");
  EXPECT_EQ(logger.lines().size(), 1);
  // The time starts again.
  announcer.Report(Clock::TimePoint(seconds(50)), "Reconciling", "it fails");
  announcer.Report(Clock::TimePoint(seconds(79)), "Reconciling", "it fails");
  EXPECT_EQ(logger.lines().size(), 1);
  announcer.Report(Clock::TimePoint(seconds(80)), "Reconciling", "it fails");
  announcer.Report(Clock::TimePoint(seconds(81)), "Reconciling", "it fails now otherwise");
  announcer.Report(Clock::TimePoint(seconds(90)), "Reconciling", "");
  EXPECT_EQ(Texts(logger),
            (std::vector<std::string>{"Reconciling", "Cannot serve why=it fails", "Reconciling"}));
  EXPECT_EQ(logger.lines()[1].level, base::LogLevel::kWarning);
}

}  // namespace
}  // namespace process

#include <gtest/gtest.h>

#include "test/bench/coverage.h"

namespace bench {
namespace {

using std::chrono::seconds;

WallTime At(int second) { return WallTime(seconds(second)); }

AuditEvent Watch(int begin, int end, const std::string& resource = "nodes") {
  return {.user = "us",
          .verb = "watch",
          .resource = resource,
          .code = 200,
          .received = At(begin),
          .completed = At(end)};
}

Blind BlindOf(const std::vector<AuditEvent>& events, const std::string& collection = "nodes/") {
  return FindBlind(events, "us", At(100), At(200))[collection];
}

TEST(FindBlind, TimeBetweenWatchesIsBlind) {
  const Blind blind = BlindOf({Watch(90, 120), Watch(123, 150), Watch(151, 210)});
  EXPECT_EQ(blind.time, seconds(4));
  EXPECT_EQ(blind.longest, seconds(3));
  EXPECT_EQ(blind.gaps, 2);
}

TEST(FindBlind, TimeBeforeTheFirstWatchAndAfterTheLastIsBlindToo) {
  EXPECT_EQ(BlindOf({Watch(110, 190)}).time, seconds(20));
}

TEST(FindBlind, WatchesMayOverlapAndComeInAnyOrder) {
  EXPECT_EQ(BlindOf({Watch(120, 140), Watch(150, 300), Watch(90, 160)}).time, seconds(0));
}

TEST(FindBlind, EachCollectionStandsForItself) {
  const std::vector<AuditEvent> events = {Watch(90, 300), Watch(90, 150, "pods")};
  EXPECT_EQ(BlindOf(events).time, seconds(0));
  EXPECT_EQ(BlindOf(events, "pods/").time, seconds(50));
}

TEST(FindBlind, OnlyWatchesOfThatUserThatWereLetInCount) {
  AuditEvent refused = Watch(90, 300);
  refused.code = 403;
  AuditEvent list = Watch(90, 300);
  list.verb = "list";
  AuditEvent theirs = Watch(90, 300);
  theirs.user = "them";
  EXPECT_EQ(BlindOf({refused, list, theirs, Watch(90, 100)}).time, seconds(100));
}

}  // namespace
}  // namespace bench

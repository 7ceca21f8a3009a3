#include <gtest/gtest.h>

#include <vector>

#include "pkg/kube/client/exec_credentials.h"

namespace kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using TimePoint = ExecSchedule::TimePoint;

constexpr TimePoint kStart{hours(1)};

TEST(ExecPace, CR5_RunsAgainATenthOfTheLifeBeforeItEnds) {
  struct Row {
    seconds life;
    seconds want;  // After the run.
  };
  const std::vector<Row> rows = {
      {hours(1), minutes(55)},     // No more than 5 min before.
      {minutes(10), minutes(9)},   //
      {seconds(60), seconds(50)},  // No less than 10 s before.
      {seconds(14), seconds(5)},   // But not within 5 s of the last run.
      {seconds(0), seconds(5)},    //
      {hours(24 * 365), hours(24 * 365) - minutes(5)},
  };
  for (const Row& row : rows) {
    ExecSchedule schedule(kStart);
    schedule.Succeeded(kStart, row.life);
    EXPECT_EQ(schedule.due() - kStart, row.want) << row.life.count();
  }
}

TEST(ExecPace, CR5_WhatNeverExpiresIsKeptUntilItIsRejected) {
  ExecSchedule schedule(kStart);
  EXPECT_EQ(schedule.due(), kStart);
  schedule.Succeeded(kStart, {});
  EXPECT_EQ(schedule.due(), TimePoint::max());
  schedule.Rejected(kStart + minutes(1));
  EXPECT_EQ(schedule.due(), kStart + minutes(1));
}

TEST(ExecPace, CR5_FailuresAreTriedAgainEverMoreRarelyUntilOneSucceeds) {
  ExecSchedule schedule(kStart);
  for (const int count : {1, 2, 4, 8, 16, 32, 60, 60}) {
    const seconds want(count);
    schedule.Failed(kStart);
    EXPECT_EQ(schedule.due() - kStart, want);
    schedule.Rejected(kStart);  // Is no reason to try sooner.
    EXPECT_EQ(schedule.due() - kStart, want);
  }
  schedule.Succeeded(kStart, {});
  schedule.Failed(kStart);
  EXPECT_EQ(schedule.due() - kStart, seconds(1));
}

TEST(ExecPace, CR2_ServerThatRejectsEverythingCausesFewRuns) {
  ExecSchedule schedule(kStart);
  TimePoint now = kStart;
  int runs = 0;
  while (now < kStart + hours(1)) {
    if (now >= schedule.due()) {
      schedule.Succeeded(now, minutes(10));
      ++runs;
    }
    schedule.Rejected(now);
    now += milliseconds(100);
  }
  EXPECT_LE(runs, 20);
}

TEST(ExecPace, CR2_RejectionAfterAQuietTimeIsAnsweredAtOnce) {
  ExecSchedule schedule(kStart);
  TimePoint now = kStart;
  for (int i = 0; i < 10; ++i) {  // Rejected soon after each of them.
    schedule.Succeeded(now, {});
    schedule.Rejected(now);
    now = schedule.due();
  }
  schedule.Succeeded(now, {});
  schedule.Rejected(now + minutes(6));
  EXPECT_EQ(schedule.due(), now + minutes(6));
}

TEST(ExecPace, CR2_RejectionNeverPutsOffARunThatIsDueAnyway) {
  ExecSchedule schedule(kStart);
  TimePoint now = kStart;
  for (int i = 0; i < 10; ++i) {
    schedule.Succeeded(now, seconds(30));
    schedule.Rejected(now);
    EXPECT_LE(schedule.due() - now, seconds(20));
    now = schedule.due();
  }
}

}  // namespace
}  // namespace kube

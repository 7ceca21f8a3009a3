#include "node/imex/signal_schedule.h"

#include <gtest/gtest.h>

namespace imex {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const base::Clock::TimePoint kStart{std::chrono::hours(1)};

TEST(SignalSchedule, NothingIsToldWhileNothingHasChanged) {
  EXPECT_EQ(WhenToSignal({}), std::nullopt);
  EXPECT_EQ(WhenToSignal(AfterSignal(kStart)), std::nullopt);
}

TEST(SignalSchedule, ChangesThatComeTogetherAreOneSignal) {
  SignalSchedule schedule = AfterChange({}, kStart);
  schedule = AfterChange(schedule, kStart + milliseconds(150));
  EXPECT_EQ(WhenToSignal(schedule), kStart + milliseconds(450));
  EXPECT_EQ(WhenToSignal(AfterSignal(kStart + milliseconds(450))), std::nullopt);
}

TEST(SignalSchedule, ChangesWithoutAnEndDoNotPutItOffForEver) {
  SignalSchedule schedule = AfterChange({}, kStart);
  for (int i = 1; i < 20; ++i) schedule = AfterChange(schedule, kStart + i * milliseconds(100));
  EXPECT_EQ(WhenToSignal(schedule), kStart + milliseconds(1'500));
}

TEST(SignalSchedule, OneThatComesTooEarlyIsPutOffWhileOthersAreKnownToCome) {
  const SignalSchedule schedule = AfterChange({}, kStart);
  EXPECT_EQ(WhenToSignal(schedule, true), kStart + milliseconds(1'500));
  EXPECT_EQ(WhenToSignal(schedule, false), kStart + milliseconds(300));
}

TEST(SignalSchedule, WhatChangesWhileImexIsDeafIsToldOnceMoreAtTheEndOfThat) {
  SignalSchedule schedule = AfterSignal(kStart);
  schedule = AfterChange(schedule, kStart + seconds(1));
  schedule = AfterChange(schedule, kStart + seconds(4));
  const auto next = WhenToSignal(schedule);
  ASSERT_TRUE(next);
  EXPECT_GT(*next, kStart + seconds(5));
  EXPECT_LT(*next, kStart + seconds(6));
}

TEST(SignalSchedule, ChangeLongAfterASignalIsToldAtOnce) {
  const SignalSchedule schedule = AfterChange(AfterSignal(kStart), kStart + seconds(60));
  EXPECT_EQ(WhenToSignal(schedule), kStart + seconds(60) + milliseconds(300));
}

}  // namespace
}  // namespace imex

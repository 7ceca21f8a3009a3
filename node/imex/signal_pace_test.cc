#include "node/imex/signal_pace.h"

#include <gtest/gtest.h>

namespace imex {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const base::Clock::TimePoint kStart{std::chrono::hours(1)};

TEST(SignalPace, NothingIsToldWhileNothingHasChanged) {
  EXPECT_EQ(WhenToSignal({}), std::nullopt);
  EXPECT_EQ(WhenToSignal(AfterSignal(kStart)), std::nullopt);
}

TEST(SignalPace, ChangesThatComeTogetherAreOneSignal) {
  SignalPace pace = AfterChange({}, kStart);
  pace = AfterChange(pace, kStart + milliseconds(150));
  EXPECT_EQ(WhenToSignal(pace), kStart + milliseconds(450));
  EXPECT_EQ(WhenToSignal(AfterSignal(kStart + milliseconds(450))), std::nullopt);
}

TEST(SignalPace, ChangesWithoutAnEndDoNotPutItOffForEver) {
  SignalPace pace = AfterChange({}, kStart);
  for (int i = 1; i < 20; ++i) pace = AfterChange(pace, kStart + i * milliseconds(100));
  EXPECT_EQ(WhenToSignal(pace), kStart + milliseconds(1'500));
}

TEST(SignalPace, OneThatComesTooEarlyIsPutOffWhileOthersAreKnownToCome) {
  const SignalPace pace = AfterChange({}, kStart);
  EXPECT_EQ(WhenToSignal(pace, true), kStart + milliseconds(1'500));
  EXPECT_EQ(WhenToSignal(pace, false), kStart + milliseconds(300));
}

TEST(SignalPace, WhatChangesWhileImexIsDeafIsToldOnceMoreAtTheEndOfThat) {
  SignalPace pace = AfterSignal(kStart);
  pace = AfterChange(pace, kStart + seconds(1));
  pace = AfterChange(pace, kStart + seconds(4));
  const auto next = WhenToSignal(pace);
  ASSERT_TRUE(next);
  EXPECT_GT(*next, kStart + seconds(5));
  EXPECT_LT(*next, kStart + seconds(6));
}

TEST(SignalPace, ChangeLongAfterASignalIsToldAtOnce) {
  const SignalPace pace = AfterChange(AfterSignal(kStart), kStart + seconds(60));
  EXPECT_EQ(WhenToSignal(pace), kStart + seconds(60) + milliseconds(300));
}

}  // namespace
}  // namespace imex

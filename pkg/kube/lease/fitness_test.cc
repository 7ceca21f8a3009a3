#include "pkg/kube/lease/fitness.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class FitnessTest : public ::testing::Test {
 protected:
  // Lets time pass in which the replica can, or cannot, work.
  void Pass(seconds time, bool can_work) {
    for (const auto end = now_ + time; now_ < end;) {
      now_ += seconds(1);
      fitness_.Observe(now_, can_work);
    }
  }
  // Returns how long the replica must work without a break before it may ask again.
  seconds UntilItAsks() {
    seconds waited(0);
    while (!fitness_.MayAsk(now_) && waited < minutes(30)) {
      Pass(seconds(1), true);
      ++waited;
    }
    return waited - seconds(1);  // It could work since the end of the first second.
  }
  void GiveUp() {
    Pass(minutes(1) + seconds(1), false);
    EXPECT_TRUE(fitness_.MustGiveUp(now_));
    fitness_.OnGivenUp();
  }

  base::Clock::TimePoint now_{};
  Fitness fitness_;
};

TEST_F(FitnessTest, REV4_K8_NewReplica_AsksAsSoonAsItCanWork) {
  EXPECT_FALSE(fitness_.MayAsk(now_)) << "nothing is known";
  EXPECT_FALSE(fitness_.MustGiveUp(now_));
  Pass(minutes(30), false);
  EXPECT_FALSE(fitness_.MayAsk(now_));
  Pass(seconds(1), true);
  EXPECT_TRUE(fitness_.MayAsk(now_));
}

TEST_F(FitnessTest, REV4_K8_Leader_GivesUpAfterAMinuteWithoutWork) {
  Pass(seconds(1), true);
  Pass(minutes(1), false);
  EXPECT_FALSE(fitness_.MustGiveUp(now_)) << "59 s";
  Pass(seconds(1), true);
  Pass(minutes(1), false);
  EXPECT_FALSE(fitness_.MustGiveUp(now_)) << "the minute begins again";
  Pass(seconds(1), false);
  EXPECT_TRUE(fitness_.MustGiveUp(now_));
}

TEST_F(FitnessTest, REV4_K8_ReplicaThatGaveUp_WaitsTwiceAsLongEachTime) {
  for (const int wait : {1, 2, 4, 8, 10, 10}) {
    GiveUp();
    EXPECT_EQ(UntilItAsks(), minutes(wait));
  }
}

TEST_F(FitnessTest, REV4_K8_WaitOfAReplica_BeginsAgainAfterABreak) {
  GiveUp();
  Pass(seconds(50), true);
  Pass(seconds(1), false);
  EXPECT_EQ(UntilItAsks(), minutes(1));
}

TEST_F(FitnessTest, REV4_K8_TwentyMinutesOfWork_MakeUpForThePast) {
  for (int i = 0; i < 3; ++i) GiveUp();
  Pass(minutes(20) + seconds(1), true);
  Pass(seconds(1), false);
  Pass(seconds(1), true);
  EXPECT_TRUE(fitness_.MayAsk(now_));
  GiveUp();
  EXPECT_EQ(UntilItAsks(), minutes(1));
}

}  // namespace
}  // namespace kube

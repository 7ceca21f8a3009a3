#include "controller/compute_domain/pass/rollout_brake.h"

#include <gtest/gtest.h>

#include "pkg/kube/testing/fakes.h"

namespace compute_domain {
namespace {

class RolloutBrakeTest : public testing::Test {
 protected:
  kube::RecordingLogger logger_;
  RolloutBrake brake_{3, logger_};
};

TEST_F(RolloutBrakeTest, CliquesOfAllDomains_CountTogether) {
  EXPECT_TRUE(brake_.TryHold("a", 2));
  EXPECT_FALSE(brake_.TryHold("b", 2));
  EXPECT_TRUE(brake_.TryHold("b", 1));
  EXPECT_FALSE(brake_.HasRoom());
  EXPECT_FALSE(brake_.TryHold("a", 3));
  EXPECT_TRUE(brake_.TryHold("a", 1)) << "it holds fewer than before";
  EXPECT_TRUE(brake_.HasRoom());
  brake_.Hold("b", 0);
  EXPECT_TRUE(brake_.TryHold("a", 3));
}

TEST_F(RolloutBrakeTest, DomainSaysHowManyItHolds_AlsoWithoutRoom) {
  brake_.Hold("a", 5);
  EXPECT_FALSE(brake_.HasRoom());
  brake_.Hold("a", 2);
  EXPECT_TRUE(brake_.HasRoom());
}

TEST_F(RolloutBrakeTest, DomainsThatWait_TakeTurns_EachOnce_OnceThereIsRoom) {
  brake_.Hold("a", 3);
  EXPECT_EQ(brake_.NextInLine("b"), "");
  EXPECT_EQ(brake_.NextInLine("c"), "");
  EXPECT_EQ(brake_.NextInLine("b"), "");
  brake_.Hold("a", 2);
  EXPECT_EQ(brake_.NextInLine(""), "b");
  EXPECT_EQ(brake_.NextInLine("b"), "c");
  EXPECT_EQ(brake_.NextInLine(""), "b");
  EXPECT_EQ(brake_.NextInLine(""), "");
}

TEST_F(RolloutBrakeTest, OnlyTheDomainThatStoppedTheRollout_ResumesIt) {
  EXPECT_EQ(brake_.WhyStopped(), "");
  brake_.StopOrResume("a", "team/a", "node-7 is down");
  brake_.StopOrResume("b", "team/b", "node-8 is down");
  EXPECT_EQ(brake_.WhyStopped(), "node-7 is down");
  EXPECT_EQ(logger_.Count("Rollout of daemons stopped"), 1U);
  brake_.StopOrResume("b", "team/b", "");
  EXPECT_EQ(brake_.WhyStopped(), "node-7 is down");
  brake_.StopOrResume("a", "team/a", "node-9 is down");
  EXPECT_EQ(brake_.WhyStopped(), "node-9 is down");
  EXPECT_EQ(logger_.Count("Rollout of daemons continues"), 0U);
  brake_.StopOrResume("a", "team/a", "");
  EXPECT_EQ(brake_.WhyStopped(), "");
  EXPECT_EQ(logger_.Count("Rollout of daemons continues"), 1U);
}

}  // namespace
}  // namespace compute_domain

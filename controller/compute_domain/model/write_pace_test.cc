#include "controller/compute_domain/model/write_pace.h"

#include <gtest/gtest.h>

namespace compute_domain {
namespace {

using Members = std::vector<api::Member>;

TEST(UrgentWindow, GrowsWithTheMembers) {
  EXPECT_EQ(UrgentWindow(0), std::chrono::milliseconds(100));
  EXPECT_EQ(UrgentWindow(1000), std::chrono::milliseconds(1100));
}

TEST(LosesReadiness, OnlyAMemberThatWasReady_AndIsNot_Counts) {
  const Members before = {{.node = "a", .ready = true}, {.node = "b"}};
  EXPECT_FALSE(LosesReadiness(before, before));
  EXPECT_FALSE(LosesReadiness(before, {{.node = "a", .ready = true}}));
  EXPECT_TRUE(LosesReadiness(before, {{.node = "b", .ready = true}}));
  EXPECT_TRUE(LosesReadiness(before, {{.node = "a"}, {.node = "b"}}));
  EXPECT_FALSE(LosesReadiness({}, before));
}

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/requests/permissions.h"

#include <gtest/gtest.h>

namespace compute_domain {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const kube::Permission kPatchNodes = {.verb = "patch", .resource = "nodes"};
const kube::Permission kDeletePods = {.verb = "delete", .resource = "pods"};

TEST(Refusals, C20_K2_WhatIsRefusedForEverIsAskedForEverMoreRarely) {
  MissingPermissions missing;
  MissingPermissions::TimePoint now{};
  int asked = 0;
  int told = 0;
  for (; now < MissingPermissions::TimePoint(hours(24)); now += seconds(10)) {
    if (missing.InForce(now).contains(kPatchNodes)) continue;
    ++asked;
    told += missing.OnForbidden(kPatchNodes, now).is_first ? 1 : 0;
  }
  EXPECT_EQ(told, 1);
  EXPECT_LT(asked, 32) << "of 8640 times";
  EXPECT_GT(asked, 24) << "it may be granted any time";
}

TEST(Refusals, C20_PassingOneIsSoonOver) {
  MissingPermissions missing;
  const MissingPermissions::TimePoint now{};
  (void)missing.OnForbidden(kPatchNodes, now);
  EXPECT_TRUE(missing.InForce(now + seconds(29)).contains(kPatchNodes));
  EXPECT_TRUE(missing.InForce(now + seconds(30)).empty());
  EXPECT_TRUE(missing.OnGranted(kPatchNodes));
  EXPECT_FALSE(missing.OnGranted(kPatchNodes));
  EXPECT_TRUE(missing.OnForbidden(kPatchNodes, now + seconds(60)).is_first);
  EXPECT_TRUE(missing.InForce(now + seconds(90)).empty()) << "it begins again";
}

TEST(Refusals, C20_RequestsThatWereUnderWayTogetherAreOneRefusal) {
  MissingPermissions missing;
  const MissingPermissions::TimePoint now{};
  for (int i = 0; i < 8; ++i) (void)missing.OnForbidden(kPatchNodes, now + seconds(i));
  EXPECT_EQ(missing.InForce(now).at(kPatchNodes), now + seconds(30));
}

TEST(CostOf, C20_EachSaysSomethingElse) {
  EXPECT_STRNE(CostOf(kPatchNodes), CostOf(kDeletePods));
  EXPECT_STRNE(CostOf(kDeletePods), CostOf({.verb = "delete", .resource = "computedomaincliques"}));
}

}  // namespace
}  // namespace compute_domain

#include "pkg/kube/lease/lease_survey.h"

#include <gtest/gtest.h>

#include "pkg/kube/testing/fake_leases.h"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Survey {
  FakeLeases leases = {};
  LeaseSurvey survey{{{.ns = "n", .name = "a"}, {.ns = "n", .name = "b"}}};

  void Look(seconds passed) { survey.Look(leases, milliseconds(1000), passed); }
};

TEST(LeaseSurvey, RenewedLease_IsOfALivingHolder) {
  Survey one;
  one.leases.Set("b", "controller-0", 1);
  one.Look(seconds(0));
  EXPECT_FALSE(one.survey.alive());
  EXPECT_EQ(one.survey.MayBeAlive(seconds(0))->name, "controller-0");
  EXPECT_EQ(one.survey.MayBeAlive(seconds(0))->duration, seconds(15));
  one.leases.Set("b", "controller-0", 2);
  one.Look(seconds(2));
  ASSERT_TRUE(one.survey.alive());
  EXPECT_EQ(one.survey.alive()->lease.name, "b");
}

TEST(LeaseSurvey, SilentHolder_IsDead_AfterTheDuration) {
  Survey one;
  one.leases.Set("a", "controller-0", 1);
  one.Look(seconds(0));
  one.Look(seconds(14));
  EXPECT_TRUE(one.survey.MayBeAlive(seconds(14)));
  one.Look(seconds(15));
  EXPECT_FALSE(one.survey.MayBeAlive(seconds(15)));
  EXPECT_FALSE(one.survey.alive());
  EXPECT_TRUE(one.survey.AnyExists());
}

TEST(LeaseSurvey, ReleasedLease_IsHeldByNobody) {
  Survey one;
  one.leases.Set("a", "controller-0", 1);
  one.Look(seconds(0));
  one.leases.Set("a", "", 2);
  one.Look(seconds(1));
  EXPECT_FALSE(one.survey.alive());
  EXPECT_FALSE(one.survey.MayBeAlive(seconds(1)));
}

TEST(LeaseSurvey, LeaseThatIsTakenMeanwhile_IsOfALivingHolder) {
  Survey one;
  one.Look(seconds(0));
  EXPECT_FALSE(one.survey.AnyExists());
  one.leases.Set("a", "controller-0", 7);
  one.Look(seconds(1));
  EXPECT_TRUE(one.survey.alive());
}

TEST(LeaseSurvey, LeaseThatCannotBeRead_IsAnError_AndNoFreeLease) {
  Survey one;
  one.leases.Set("a", "controller-0", 1);
  one.Look(seconds(0));
  EXPECT_FALSE(one.survey.error());
  one.leases.SetReply("a", {.status = 403, .body = "no"});
  one.leases.SetReply("b", {.status = 200, .body = "[["});
  one.Look(seconds(1));
  ASSERT_TRUE(one.survey.error());
  EXPECT_EQ(one.survey.error()->code, base::ErrorCode::kForbidden);
  EXPECT_TRUE(one.survey.MayBeAlive(seconds(1)));
  one.leases.Set("a", "", 2);
  one.Look(seconds(2));
  EXPECT_TRUE(one.survey.error()) << "the other is unreadable";
}

}  // namespace
}  // namespace kube

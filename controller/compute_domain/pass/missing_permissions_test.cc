#include "controller/compute_domain/pass/missing_permissions.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"

namespace compute_domain {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const kube::Permission kPatchNodes = {.verb = "patch", .resource = "nodes"};
const kube::Permission kDeletePods = {.verb = "delete", .resource = "pods"};

class MissingPermissionsTest : public testing::Test {
 protected:
  bool IsInForce() const { return missing_.InForce().contains(kPatchNodes); }

  base::ManualClock clock_;
  kube::RecordingLogger logger_;
  MissingPermissions missing_{clock_, logger_};
};

TEST_F(MissingPermissionsTest, C20_K2_OneThatStaysMissing_IsTriedEverMoreRarely_AndToldOnce) {
  int asked = 0;
  for (auto gone = seconds(0); gone < hours(24); gone += seconds(10), clock_.Advance(seconds(10))) {
    if (IsInForce()) continue;
    ++asked;
    (void)missing_.OnForbidden(kPatchNodes);
  }
  EXPECT_EQ(logger_.Count("Continuing without a permission"), 1U);
  EXPECT_LT(asked, 32) << "of 8640 times";
  EXPECT_GT(asked, 24) << "it may be granted any time";
}

TEST_F(MissingPermissionsTest, C20_OneThatIsGranted_IsTold_AndBeginsAnew) {
  (void)missing_.OnForbidden(kPatchNodes);
  clock_.Advance(seconds(29));
  EXPECT_TRUE(IsInForce());
  clock_.Advance(seconds(1));
  EXPECT_FALSE(IsInForce());
  missing_.OnGranted(kPatchNodes);
  missing_.OnGranted(kPatchNodes);
  EXPECT_EQ(logger_.Count("Permission granted"), 1U);
  (void)missing_.OnForbidden(kPatchNodes);
  EXPECT_EQ(logger_.Count("Continuing without a permission"), 2U);
  clock_.Advance(seconds(30));
  EXPECT_FALSE(IsInForce());
}

TEST_F(MissingPermissionsTest, C20_RequestsThatWereUnderWayTogether_AreOneRefusal) {
  const auto until = clock_.Now() + seconds(30);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(missing_.OnForbidden(kPatchNodes), until);
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(missing_.InForce().at(kPatchNodes), until);
}

TEST(CostOf, C20_EachSaysSomethingElse) {
  EXPECT_STRNE(CostOf(kPatchNodes), CostOf(kDeletePods));
  EXPECT_STRNE(CostOf(kDeletePods), CostOf({.verb = "delete", .resource = "computedomaincliques"}));
}

}  // namespace
}  // namespace compute_domain

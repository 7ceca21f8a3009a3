#include "controller/compute_domain/pass/installed_crd.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"

namespace compute_domain {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class InstalledCrdTest : public testing::Test {
 protected:
  base::ManualClock clock_;
  kube::RecordingLogger logger_;
  InstalledCrd crd_{clock_, logger_};
};

TEST_F(InstalledCrdTest, ConditionsThatAreDropped_AreTriedAgain_EverMoreRarely) {
  EXPECT_FALSE(crd_.DropsConditions());
  crd_.OnConditions(false);
  crd_.OnConditions(false);  // Of a request that was under way.
  EXPECT_TRUE(crd_.DropsConditions());
  EXPECT_EQ(crd_.UntilConditionsAreTried(), minutes(1));
  clock_.Advance(minutes(1));
  EXPECT_FALSE(crd_.DropsConditions());
  EXPECT_EQ(crd_.UntilConditionsAreTried(), milliseconds(1));
  crd_.OnConditions(false);
  clock_.Advance(seconds(119));
  EXPECT_TRUE(crd_.DropsConditions());
  EXPECT_EQ(logger_.Count("drops the conditions"), 1U);
}

TEST_F(InstalledCrdTest, OneThatKeepsThem_IsToldOnlyAfterOneThatDropsThem) {
  crd_.OnConditions(true);
  EXPECT_EQ(logger_.Count("keeps the conditions"), 0U);
  crd_.OnConditions(false);
  crd_.OnConditions(true);
  EXPECT_EQ(logger_.Count("keeps the conditions"), 1U);
  EXPECT_FALSE(crd_.DropsConditions());
}

TEST_F(InstalledCrdTest, OneThatMayHaveChanged_IsTriedAtOnce) {
  EXPECT_FALSE(crd_.TryConditionsAgain());
  crd_.OnConditions(false);
  EXPECT_TRUE(crd_.TryConditionsAgain());
  EXPECT_FALSE(crd_.DropsConditions());
  EXPECT_FALSE(crd_.TryConditionsAgain());
}

}  // namespace
}  // namespace compute_domain

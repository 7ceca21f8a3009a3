#include "controller/process/other_leaders.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fake_leases.h"
#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OtherLeadersTest : public ::testing::Test {
 protected:
  // Each look takes a second, and `at_look` is called with its number before it.
  void Wait(const std::function<void(int)>& at_look = {}) {
    int looks = 0;
    const auto beat = [&] {
      clock_.Advance(seconds(1));
      if (at_look) at_look(looks++);
    };
    WaitForOtherLeaders(
        {{.ns = "n", .name = "a"}, {.ns = "n", .name = "b"}}, leases_,
        {.clock = clock_, .logger = logger_, .period = milliseconds(1), .beat = beat},
        stop_.get_token());
  }

  kube::FakeLeases leases_;
  base::ManualClock clock_;
  kube::RecordingLogger logger_;
  std::stop_source stop_;
};

TEST_F(OtherLeadersTest, NobodyLeads_ReturnsAtOnce) {
  const auto began = clock_.Now();
  leases_.Set("a", "", 1);
  Wait();
  EXPECT_EQ(clock_.Now(), began + seconds(1));
  EXPECT_TRUE(logger_.lines().empty());
}

TEST_F(OtherLeadersTest, LeaseThatMayNotBeRead_IsIgnored) {
  const auto began = clock_.Now();
  leases_.SetReply("b", {.status = 403, .body = "no"});
  Wait();
  EXPECT_EQ(clock_.Now(), began + seconds(1));
  EXPECT_EQ(logger_.Count("continuing err=403"), 1U);
}

TEST_F(OtherLeadersTest, DeadHolder_IsWaitedFor_AsLongAsItsLeaseLasts) {
  const auto began = clock_.Now();
  leases_.Set("b", "controller-0", 1);
  Wait();
  EXPECT_GE(clock_.Now(), began + seconds(15));
  EXPECT_LE(clock_.Now(), began + seconds(20));
  EXPECT_EQ(logger_.Count("lease=n/b holder=controller-0"), 1U);
}

TEST_F(OtherLeadersTest, LivingHolder_IsNamedOnce_AndWaitedForUntilItEnds) {
  leases_.Set("b", "controller-0", 1);
  Wait([&](int look) {
    if (look < 100) {
      leases_.Set("b", "controller-0", look);
    } else {
      leases_.Set("b", "", 100);
    }
  });
  EXPECT_EQ(logger_.Count("Another controller leads under another Lease"), 1U);
  EXPECT_EQ(logger_.lines().back().level, base::LogLevel::kError);
  EXPECT_NE(logger_.lines().back().text.find("remedy=stop one of the two"), std::string::npos);
}

TEST_F(OtherLeadersTest, LeaseThatCannotBeRead_IsReadAgain) {
  leases_.SetReply("a", {.status = 500, .body = "away"});
  Wait([&](int look) {
    if (look == 10) leases_.Set("a", "", 1);
  });
  EXPECT_EQ(logger_.Count("will retry"), 1U);
}

TEST_F(OtherLeadersTest, Stop_EndsTheWait) {
  leases_.Set("b", "controller-0", 1);
  Wait([&](int look) {
    leases_.Set("b", "controller-0", look);
    if (look == 50) stop_.request_stop();
  });
  EXPECT_TRUE(stop_.stop_requested());
}

}  // namespace
}  // namespace process

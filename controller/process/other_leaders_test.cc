#include "controller/process/other_leaders.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fake_leases.h"
#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The end of the path, as FakeLeases knows it.
constexpr const char* kNamespaces = "namespaces?labelSelector=cdom.dev%2Fdriver%3Dtrue";

class OtherLeadersTest : public ::testing::Test {
 protected:
  // Each look takes a second, and `at_look` is called with its number before it.
  OtherLeadersContext Context(const std::function<void(int)>& at_look) {
    const auto beat = [this, at_look, looks = 0]() mutable {
      clock_.Advance(seconds(1));
      if (at_look) at_look(looks++);
    };
    return {.clock = clock_, .logger = logger_, .period = milliseconds(1), .beat = beat};
  }
  void Wait(const std::function<void(int)>& at_look = {}) {
    WaitForOtherLeaders({{.ns = "n", .name = "a"}, {.ns = "n", .name = "b"}}, leases_,
                        Context(at_look), stop_.get_token());
  }
  std::vector<kube::ObjectKey> Elsewhere(const std::function<void(int)>& at_look = {}) {
    return FindLeasesElsewhere("default", leases_, Context(at_look), stop_.get_token());
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

// ---- In other namespaces.

std::vector<std::string> Names(const std::vector<kube::ObjectKey>& leases) {
  std::vector<std::string> names;
  names.reserve(leases.size());
  for (const kube::ObjectKey& lease : leases) names.push_back(kube::ToString(lease));
  return names;
}

TEST_F(OtherLeadersTest, LeasesElsewhere_AreThoseOfOtherDriverNamespaces) {
  leases_.SetReply(kNamespaces,
                   {.status = 200, .body = R"({"items": [{"metadata": {"name": "default"}},
                                                       {"metadata": {"name": "cdom-system"}}]})"});
  EXPECT_EQ(Names(Elsewhere()),
            (std::vector<std::string>{"cdom-system/cdom-controller",
                                      "cdom-system/nvidia-compute-domain-controller",
                                      "cdom-system/dra-driver-nvidia-gpu-controller",
                                      "cdom-system/nvidia-dra-driver-controller"}));
}

TEST_F(OtherLeadersTest, LeasesElsewhere_AreNotLookedForWithoutPermission) {
  leases_.SetReply(kNamespaces, {.status = 403, .body = "no"});
  EXPECT_EQ(Names(Elsewhere()), std::vector<std::string>());
  EXPECT_TRUE(logger_.lines().empty()) << "cdom's own account may not";
}

TEST_F(OtherLeadersTest, LeasesElsewhere_AreLookedForUntilTheServerAnswers) {
  leases_.SetReply(kNamespaces, {.status = 500, .body = "away"});
  const auto answer = [&](int look) {
    if (look == 10) leases_.SetReply(kNamespaces, {.status = 200, .body = R"({"items": []})"});
  };
  EXPECT_EQ(Names(Elsewhere(answer)), std::vector<std::string>());
  EXPECT_EQ(logger_.Count("will retry"), 1U);
}

}  // namespace
}  // namespace process

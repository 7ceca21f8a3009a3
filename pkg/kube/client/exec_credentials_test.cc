#include "pkg/kube/client/exec_credentials.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using std::chrono::minutes;
using std::chrono::seconds;

class ExecCredentialsTest : public ::testing::Test {
 protected:
  // What the plugin prints from now on.
  void Prints(const std::string& token, std::optional<seconds> life = {}) {
    next_ = [this, token, life] {
      ExecCredential credential = {.token = token};
      if (life) credential.expires_at = clock_.Wall() + *life;
      return Result<ExecCredential>(credential);
    };
  }
  void Fails(const std::string& message) {
    next_ = [message] { return Result<ExecCredential>(Fail(ErrorCode::kInvalid, message)); };
  }
  // Time passes, and the plugin is run whenever it is due.
  void Advance(seconds by) {
    for (seconds passed{0}; passed < by; ++passed) {
      clock_.Advance(seconds(1));
      credentials_.RunIfDue({});
    }
  }
  std::string WhyNone() const {
    const auto current = credentials_.FirstUntil(clock_.Now());
    return current ? "" : current.error().message;
  }

  base::ManualClock clock_;
  RecordingLogger log_;
  int runs_ = 0;
  std::function<Result<ExecCredential>()> next_;
  ExecCredentials credentials_{"identity",
                               [this](const std::stop_token&) {
                                 ++runs_;
                                 return next_();
                               },
                               clock_, log_};
};

TEST_F(ExecCredentialsTest, CR5_TokenIsReplacedBeforeItExpires) {
  Prints("first", minutes(10));
  credentials_.RunIfDue({});
  Prints("second", minutes(10));
  Advance(minutes(9) - seconds(1));
  EXPECT_EQ(credentials_.BearerToken(), "first");
  EXPECT_EQ(runs_, 1);
  Advance(seconds(1));
  EXPECT_EQ(credentials_.BearerToken(), "second");
  EXPECT_EQ(runs_, 2);
}

TEST_F(ExecCredentialsTest, CR5_RejectedTokenIsReplacedAndAskingForItRunsNothing) {
  Prints("first");
  credentials_.RunIfDue({});
  Prints("second");
  Advance(minutes(1));
  credentials_.Invalidate();
  credentials_.Invalidate();
  EXPECT_EQ(log_.Count("The API server rejected the exec plugin"), 1U);
  EXPECT_EQ(credentials_.BearerToken(), "first");
  EXPECT_EQ(runs_, 1);
  credentials_.RunIfDue({});
  EXPECT_EQ(credentials_.BearerToken(), "second");
  EXPECT_EQ(runs_, 2);
}

TEST_F(ExecCredentialsTest, CR5_LastGoodTokenStaysWhileThePluginFailsAndTheLogSaysEachCauseOnce) {
  Prints("good", minutes(10));
  credentials_.RunIfDue({});
  Fails("no network");
  Advance(minutes(9) + seconds(20));
  EXPECT_EQ(credentials_.BearerToken(), "good");
  EXPECT_EQ(WhyNone(), "");
  EXPECT_GT(runs_, 3);
  Fails("log in first");
  Advance(minutes(1));
  EXPECT_EQ(log_.lines().size(), 2U);
  EXPECT_EQ(log_.Count("err=no network"), 1U);
  EXPECT_EQ(log_.Count("err=log in first"), 1U);
  EXPECT_EQ(credentials_.BearerToken(), "good") << "a 401 says more than a request of nobody's";
  EXPECT_EQ(WhyNone(), "log in first") << "it has expired";

  Prints("better", minutes(10));
  Advance(minutes(1));
  EXPECT_EQ(credentials_.BearerToken(), "better");
  EXPECT_EQ(WhyNone(), "");
  EXPECT_EQ(log_.lines().back().text, "The exec plugin printed credentials again");
}

TEST_F(ExecCredentialsTest, CR5_FailureBeforeTheFirstSuccessIsForWhoAsked) {
  EXPECT_EQ(WhyNone(), "has not answered yet, for which it is given a minute");
  Fails("no such program");
  credentials_.RunIfDue({});
  EXPECT_EQ(WhyNone(), "no such program");
  EXPECT_EQ(credentials_.BearerToken(), "");
  EXPECT_TRUE(log_.lines().empty());
  Advance(minutes(10));
  EXPECT_LE(runs_, 17) << "once a minute, after some more";
}

TEST_F(ExecCredentialsTest, CR5_SourceDoesNotChangeWithTheToken) {
  Prints("first");
  credentials_.RunIfDue({});
  const std::string source = credentials_.Source();
  Prints("second");
  Advance(minutes(1));
  credentials_.Invalidate();
  credentials_.RunIfDue({});
  EXPECT_EQ(credentials_.BearerToken(), "second");
  EXPECT_EQ(credentials_.Source(), source);
}

TEST_F(ExecCredentialsTest, CR5_TimesAtTheEndsOfTheCalendarAreLong) {
  next_ = [] {
    const ExecCredential credential = {
        .token = "t", .expires_at = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31)};
    return Result<ExecCredential>(credential);
  };
  credentials_.RunIfDue({});
  Advance(minutes(10));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(WhyNone(), "");
}

}  // namespace
}  // namespace kube

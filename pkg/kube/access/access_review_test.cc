#include "pkg/kube/access/access_review.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/testing/script.h"
#include "pkg/json/value.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Result;
using http::testing::Script;

constexpr int kCreated = 201;
constexpr const char* kUnknownToken = R"({"status":{"authenticated":false,"user":{}}})";
constexpr const char* kPrometheus =
    R"({"status":{"authenticated":true,"user":{"username":"prometheus","uid":"7",)"
    R"("groups":["monitoring"],"extra":{"pod":["p"]}}}})";
constexpr const char* kAllowed = R"({"status":{"allowed":true}})";
constexpr const char* kNotAllowed = R"({"status":{"allowed":false}})";

class AccessReviewsTest : public ::testing::Test {
 protected:
  // The API server does not know the next token that it is asked for.
  void AnswerUnknown() { api_server_.Answer(kCreated, kUnknownToken); }
  // It knows the token, and answers whether the user may.
  void AnswerKnown(const char* access) {
    api_server_.Answer(kCreated, kPrometheus);
    api_server_.Answer(kCreated, access);
  }
  // kAllowed if it cannot be known, which no test expects then.
  Access Check(const std::string& token) {
    const Result<AccessVerdict> verdict = reviews_.Check(token);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? verdict->access : Access::kAllowed;
  }
  std::size_t Asked() const { return api_server_.asked.size(); }

  Script api_server_;
  base::ManualClock clock_;
  AccessReviews reviews_{"/metrics", api_server_, clock_};
};

TEST_F(AccessReviewsTest, REV3_X8_TokenWithThePermissionIsAllowed) {
  AnswerKnown(kAllowed);
  EXPECT_EQ(Check("secret"), Access::kAllowed);
  ASSERT_EQ(Asked(), 2U);
  const http::Request& who = api_server_.asked[0];
  EXPECT_EQ(who.method, http::Method::kPost);
  EXPECT_EQ(who.path, "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(who.body, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
                      R"("spec":{"token":"secret"}})");
  const http::Request& may = api_server_.asked[1];
  EXPECT_EQ(may.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_EQ(may.body,
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
            R"("user":"prometheus","nonResourceAttributes":{"path":"/metrics","verb":"get"},)"
            R"("uid":"7","groups":["monitoring"],"extra":{"pod":["p"]}}})");
  EXPECT_LE(who.timeout + may.timeout, std::chrono::seconds(4));
}

TEST_F(AccessReviewsTest, REV3_X8_UnknownTokenIsNotAuthenticated) {
  AnswerUnknown();
  EXPECT_EQ(Check("unknown"), Access::kNotAuthenticated);
  EXPECT_EQ(Asked(), 1U) << "nobody's permission was asked for";
}

TEST_F(AccessReviewsTest, REV3_X8_UserWithoutThePermissionIsForbidden) {
  AnswerKnown(kNotAllowed);
  const auto verdict = reviews_.Check("of a tenant");
  EXPECT_TRUE(verdict && verdict->access == Access::kNotAuthenticated) << "a blank is in no token";
  EXPECT_EQ(Asked(), 0U);
  EXPECT_EQ(Check("of-a-tenant"), Access::kForbidden);
}

TEST_F(AccessReviewsTest, REV3_X8_DenialCountsMoreThanPermission) {
  AnswerKnown(R"({"status":{"allowed":true,"denied":true}})");
  EXPECT_EQ(Check("token"), Access::kForbidden);
}

TEST_F(AccessReviewsTest, REV3_X8_UserWithoutANameIsNotAuthenticated) {
  api_server_.Answer(kCreated, R"({"status":{"authenticated":true,"user":{"groups":["g"]}}})");
  EXPECT_EQ(Check("token"), Access::kNotAuthenticated);
}

TEST_F(AccessReviewsTest, REV3_X8_WhatIsNoTokenIsNotAskedFor) {
  for (const std::string& token : {std::string(), std::string("a b"), std::string("a\nb"),
                                   std::string("\xc3\xa4"), std::string((8U << 10) + 1, 'a')}) {
    EXPECT_EQ(Check(token), Access::kNotAuthenticated) << token.substr(0, 10);
  }
  EXPECT_EQ(Asked(), 0U);
}

TEST_F(AccessReviewsTest, REV3_X8_AnswerIsKeptForTenSeconds) {
  AnswerKnown(kAllowed);
  AnswerUnknown();
  EXPECT_EQ(Check("good"), Access::kAllowed);
  EXPECT_EQ(Check("bad"), Access::kNotAuthenticated);
  clock_.Advance(std::chrono::milliseconds(9'999));
  EXPECT_EQ(Check("good"), Access::kAllowed);
  EXPECT_EQ(Check("bad"), Access::kNotAuthenticated);
  EXPECT_EQ(Asked(), 3U);
  clock_.Advance(std::chrono::milliseconds(1));
  AnswerUnknown();
  AnswerUnknown();
  EXPECT_EQ(Check("good"), Access::kNotAuthenticated) << "it was withdrawn";
  EXPECT_EQ(Check("bad"), Access::kNotAuthenticated);
  EXPECT_EQ(Asked(), 5U);
}

TEST_F(AccessReviewsTest, REV3_X8_FloodOfTokensPushesNoAllowedOneOut) {
  AnswerKnown(kAllowed);
  EXPECT_EQ(Check("good"), Access::kAllowed);
  for (int i = 0; i < 200; ++i) {
    AnswerUnknown();
    EXPECT_EQ(Check("bad-" + std::to_string(i)), Access::kNotAuthenticated);
  }
  const std::size_t asked = Asked();
  EXPECT_EQ(Check("good"), Access::kAllowed);
  EXPECT_EQ(Asked(), asked);
  AnswerUnknown();
  EXPECT_EQ(Check("bad-0"), Access::kNotAuthenticated);
  EXPECT_EQ(Asked(), asked + 1) << "no more than 64 are kept";
}

TEST_F(AccessReviewsTest, REV3_X8_WhatTheApiServerDoesNotAnswerIsNotKept) {
  const std::vector<std::pair<int, std::string>> rows = {
      {500, "broken"},
      {403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})"},
      {kCreated, "{}"},
      {kCreated, "no JSON"},
      {kCreated, R"({"status":"authenticated"})"}};
  for (const auto& [status, body] : rows) {
    api_server_.Answer(status, body);
    const auto verdict = reviews_.Check("token");
    ASSERT_FALSE(verdict) << body;
    EXPECT_TRUE(verdict.error().message.starts_with("create TokenReview: "))
        << verdict.error().message;
  }
  api_server_.Answer(kCreated, kPrometheus);
  api_server_.Answer(503, "away");
  EXPECT_FALSE(reviews_.Check("token"));
  AnswerKnown(kAllowed);
  EXPECT_EQ(Check("token"), Access::kAllowed);
}

}  // namespace
}  // namespace kube

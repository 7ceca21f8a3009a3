#include "controller/process/start_checks.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

const http::Response kMissing = {.status = 404,
                                 .body = R"({"kind":"Status","code":404,"reason":"NotFound"})"};

// Answers by method and path.
class Server final : public http::Transport {
 public:
  std::map<std::string, http::Response> replies;
  std::vector<std::string> asked;

  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    std::vector<base::Result<http::Response>> all;
    for (const http::Request& request : requests) {
      asked.push_back(std::string(ToString(request.method)) + " " + request.path);
      const auto reply = replies.find(asked.back());
      all.emplace_back(reply == replies.end() ? kMissing : reply->second);
    }
    return all;
  }
};

constexpr const char* kReview = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
constexpr const char* kPolicy =
    "GET /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/cdom-child-deletion";
constexpr const char* kBinding =
    "GET /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/"
    "cdom-child-deletion";

class IdentityTest : public ::testing::Test {
 protected:
  std::string Check(const std::string& user, const std::string& others = "['']",
                    const std::string& actions = R"(["Deny"])") {
    server_.replies[kReview] = {
        .status = 201, .body = R"({"status":{"userInfo":{"username":")" + user + R"("}}})"};
    server_.replies[kPolicy] = {
        .status = 200,
        .body = R"({"spec":{"variables":[{"name":"x"},{"name":"otherControllers","expression":")" +
                others + R"("}]}})"};
    server_.replies[kBinding] = {.status = 200,
                                 .body = R"({"spec":{"validationActions":)" + actions + "}}"};
    return CheckIdentity(server_, *logger_, {});
  }
  bool Warns() const { return logger_->Count("A policy refuses") > 0; }

  Server server_;
  std::optional<kube::RecordingLogger> logger_{std::in_place};
};

TEST_F(IdentityTest, AccountOfTheController_IsLogged_AndAsksForNothingElse) {
  EXPECT_EQ(Check("system:serviceaccount:gpu:cdom-controller"),
            "system:serviceaccount:gpu:cdom-controller");
  EXPECT_EQ(logger_->Count("Known to the API server user=system:serviceaccount:gpu"), 1U);
  EXPECT_EQ(server_.asked, (std::vector<std::string>{kReview}));
  Check("system:serviceaccount:n:dra-driver-nvidia-gpu-service-account-controller");
  Check("system:serviceaccount:gpu-operator:nvidia-dra-driver-controller");
  EXPECT_FALSE(Warns());
}

TEST_F(IdentityTest, AnotherUser_IsWarned_WhileThePolicyIsInForce) {
  for (const char* user : {"cdom-admin", "system:serviceaccount:gpu:other",
                           "system:serviceaccount:gpu:-service-account-controller",
                           "x:system:serviceaccount:gpu:cdom-controller"}) {
    logger_.emplace();
    EXPECT_EQ(Check(user), user);
    EXPECT_TRUE(Warns()) << user;
    EXPECT_EQ(logger_->Count("user=" + std::string(user) + " remedy=run it with a token of "), 1U);
  }
}

TEST_F(IdentityTest, AnotherUser_IsNotWarned_IfThePolicyNamesIt) {
  Check("alice", "['alice']");
  Check("alice", R"([\"bob\", \"alice\"])");
  EXPECT_FALSE(Warns());
  Check("alice", "['alice2']");
  EXPECT_TRUE(Warns());
}

TEST_F(IdentityTest, AnotherUser_IsNotWarned_IfThePolicyOnlyWarns) {
  Check("alice", "['']", R"(["Warn", "Audit"])");
  EXPECT_FALSE(Warns());
}

TEST_F(IdentityTest, PolicyThatIsNotInstalled_IsNoPolicy) {
  server_.replies[kReview] = {.status = 201,
                              .body = R"({"status":{"userInfo":{"username":"alice"}}})"};
  EXPECT_EQ(CheckIdentity(server_, *logger_, {}), "alice");
  EXPECT_EQ(logger_->lines().size(), 1U);
}

TEST_F(IdentityTest, PolicyThatCannotBeRead_IsSaid) {
  Check("alice");
  server_.replies[kPolicy] = {.status = 403, .body = "no"};
  logger_.emplace();
  EXPECT_EQ(CheckIdentity(server_, *logger_, {}), "alice");
  EXPECT_EQ(logger_->Count("Cannot read the policy"), 1U);
}

TEST_F(IdentityTest, UserThatIsNotTold_IsEmpty) {
  EXPECT_EQ(CheckIdentity(server_, *logger_, {}), "");
  server_.replies[kReview] = {.status = 201, .body = "[["};
  EXPECT_EQ(CheckIdentity(server_, *logger_, {}), "");
  EXPECT_EQ(logger_->Count(""), 0U);
}

}  // namespace
}  // namespace process

#include "pkg/kube/client/exec_runner.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::minutes;

class ExecRunnerTest : public ::testing::Test {
 protected:
  ExecRunnerTest() {
    std::string name = ::testing::TempDir() + "/runner_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    Write("token", "first");
  }
  ~ExecRunnerTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/next") << content;
    std::filesystem::rename(folder_ + "/next", folder_ + "/" + name);
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(folder_ + "/" + name);
  }
  // Prints what is in the file `token`, waits as long as there is a file `wait`, and counts its
  // runs.
  ExecPlugin Plugin(const std::string& name = "plugin") const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path)
        << "#!/bin/sh\ncd " + folder_ + "\necho run >>" + name +
               ".runs\n"
               "while test -e wait; do : >waits; sleep 0.02; done\n"
               "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
               "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"'$(cat token)'\"}}'\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return {.where = "/c: users[0] \"me\": exec",
            .api_version = "client.authentication.k8s.io/v1",
            .command = path,
            .info = "{}"};
  }
  int Runs(const std::string& name = "plugin") const {
    std::ifstream file(folder_ + "/" + name + ".runs");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  std::shared_ptr<http::Credentials> Get(const ExecPlugin& plugin) {
    auto user = runner_->Get(plugin);
    EXPECT_TRUE(user) << user.error().message;
    return user ? std::move(user->credentials) : nullptr;
  }
  void MakeRunner(milliseconds patience) {
    runner_ = std::make_unique<ExecRunner>(std::vector<std::string>{"PATH=/usr/bin:/bin"}, patience,
                                           clock_, logger_);
  }

  base::ManualClock clock_;
  NoLog logger_;
  std::string folder_;
  std::unique_ptr<ExecRunner> runner_ = std::make_unique<ExecRunner>(
      std::vector<std::string>{"PATH=/usr/bin:/bin"}, minutes(1), clock_, logger_);
};

TEST_F(ExecRunnerTest, CR5_ConfigurationThatIsReadAgainRunsNothing) {
  const ExecPlugin plugin = Plugin();
  const auto first = Get(plugin);
  const auto second = Get(plugin);
  EXPECT_EQ(first->BearerToken(), "first");
  EXPECT_EQ(second->BearerToken(), "first");
  EXPECT_EQ(first->Source(), second->Source());
  EXPECT_EQ(Runs(), 1);
}

TEST_F(ExecRunnerTest, CR2_RejectedTokenIsReplacedForAllWhoHaveIt) {
  const ExecPlugin plugin = Plugin();
  const auto first = Get(plugin);
  const auto second = Get(plugin);
  Write("token", "second");
  clock_.Advance(minutes(10));
  first->Invalidate();
  EXPECT_TRUE(base::WaitUntil([&] { return second->BearerToken() == "second"; }));
  EXPECT_EQ(Runs(), 2);
}

TEST_F(ExecRunnerTest, CR5_NobodyWaitsForAPluginThatHangsOnceThereIsAToken) {
  const ExecPlugin plugin = Plugin();
  const auto credentials = Get(plugin);
  Write("wait", "");
  Write("token", "second");
  clock_.Advance(minutes(10));
  credentials->Invalidate();
  ASSERT_TRUE(base::WaitUntil([&] { return Exists("waits"); }));
  EXPECT_EQ(credentials->BearerToken(), "first");
  EXPECT_EQ(Get(plugin)->BearerToken(), "first");
  std::filesystem::remove(folder_ + "/wait");
  EXPECT_TRUE(base::WaitUntil([&] { return credentials->BearerToken() == "second"; }));
}

TEST_F(ExecRunnerTest, CR5_FirstAnswerIsWaitedForWithPatienceAndNoLonger) {
  MakeRunner(milliseconds(0));
  const ExecPlugin plugin = Plugin();
  Write("wait", "");
  const auto user = runner_->Get(plugin);
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(user.error().message, plugin.where + ": " + plugin.command +
                                      ": has not answered yet, for which it is given a minute");
  std::filesystem::remove(folder_ + "/wait");
  EXPECT_TRUE(base::WaitUntil([&] { return runner_->Get(plugin).has_value(); }));
  EXPECT_EQ(Runs(), 1);
}

TEST_F(ExecRunnerTest, CR5_EndDoesNotWaitForAPluginThatHangs) {
  MakeRunner(milliseconds(0));
  Write("wait", "");
  EXPECT_FALSE(runner_->Get(Plugin()));
  ASSERT_TRUE(base::WaitUntil([&] { return Exists("waits"); }));
  runner_.reset();
  EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) << "a child is left";
}

TEST_F(ExecRunnerTest, CR5_PluginEndsWithItsLastUserAndNotBefore) {
  const ExecPlugin plugin = Plugin();
  const ExecPlugin other = Plugin("other");
  auto user = Get(plugin);
  auto another = Get(other);
  EXPECT_EQ(Get(plugin)->BearerToken(), "first");
  EXPECT_EQ(Runs(), 1);
  user.reset();
  another = Get(other);  // The first is given up.
  EXPECT_EQ(Get(plugin)->BearerToken(), "first");
  EXPECT_EQ(Runs(), 2);
  EXPECT_EQ(Runs("other"), 1);
}

TEST_F(ExecRunnerTest, CR5_CredentialsOutliveTheRunner) {
  const auto credentials = Get(Plugin());
  runner_.reset();
  EXPECT_EQ(credentials->BearerToken(), "first");
  Write("token", "second");
  clock_.Advance(minutes(10));
  credentials->Invalidate();
  EXPECT_TRUE(base::WaitUntil([&] { return credentials->BearerToken() == "second"; }));
}

TEST_F(ExecRunnerTest, CR5_ManyThreadsAskAndRejectWithoutATornToken) {
  const ExecPlugin plugin = Plugin();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) {
        const auto user = runner_->Get(plugin);
        ASSERT_TRUE(user);
        const std::string token = user->credentials->BearerToken();
        ASSERT_TRUE(token == "first" || token == "second") << token;
        if (turn % 10 == 0) {
          clock_.Advance(minutes(10));
          user->credentials->Invalidate();
        }
      }
    });
  }
  Write("token", "second");
  threads.clear();
  const auto credentials = Get(plugin);
  EXPECT_TRUE(base::WaitUntil([&] {  // The last run may have begun before.
    clock_.Advance(minutes(10));
    credentials->Invalidate();
    return credentials->BearerToken() == "second";
  }));
}

}  // namespace
}  // namespace kube

#include "node/dra/process/api_connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "node/plugin/api/plugin_api.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace plugin {
namespace {

using http::testing::RawServer;
using http::testing::Reply;

// A plugin whose client configuration names `url_` and `ca_`.
class ApiConnectionTest : public testing::Test {
 protected:
  ~ApiConnectionTest() override { connection_.Close(); }

  // Answers /version when the test says so, and holds all other requests.
  void Serve(RawServer::Connection& connection) {
    if (connection.ReadRequest().find("/version") == std::string::npos) {
      ++held_;
      connection.WaitForClose();
      ++closed_;
      return;
    }
    asked_.count_down();
    may_answer_.wait();
    connection.Write(Reply(200, "{}"));
  }

  std::latch asked_{1};
  std::latch may_answer_{1};
  std::atomic<int> held_ = 0;
  std::atomic<int> closed_ = 0;
  RawServer server_{[this](RawServer::Connection& connection) { Serve(connection); }};
  std::string url_ = server_.url();
  std::string ca_ = "old";
  base::ManualClock clock_;
  kube::NoLog log_;
  base::TaskQueue tasks_;
  dra::ApiConnection<PluginApi> connection_{
      clock_, log_,
      [this]() -> base::Result<kube::ClientConfig> {
        return kube::ClientConfig{
            .endpoint = {.url = url_, .ca_pem = ca_},
            .credentials = std::make_unique<http::testing::FakeCredentials>()};
      },
      [this](kube::ClientConfig config) {
        return PluginApi::Connect(std::move(config), "node-a", clock_, log_, tasks_, [] {});
      }};
};

TEST_F(ApiConnectionTest, REV4_Y13_RotatedCa_IsUsedWithinAMinute) {
  connection_.Turn();
  const PluginApi* const first = connection_.api();
  ASSERT_NE(first, nullptr);
  clock_.Advance(std::chrono::minutes(1));
  connection_.Turn();
  EXPECT_EQ(connection_.api(), first) << "nothing has changed";
  ca_ = "new";
  clock_.Advance(std::chrono::seconds(59));
  connection_.Turn();
  EXPECT_EQ(connection_.used()->endpoint.ca_pem, "old");
  clock_.Advance(std::chrono::seconds(1));
  connection_.Turn();
  EXPECT_EQ(connection_.used()->endpoint.ca_pem, "new");
}

TEST_F(ApiConnectionTest, REV4_Y13_RequestInFlight_EndsOnTheEarlierConnection) {
  connection_.Turn();
  std::optional<bool> answered;
  connection_.api()->Enqueue(PluginApi::Queue::kReads, [&](http::Transport& transport) {
    const bool done =
        transport.Send({.path = "/version", .timeout = std::chrono::minutes(10)}).has_value();
    return [&, done] { answered = done; };
  });
  asked_.wait();
  EXPECT_TRUE(base::WaitUntil([&] { return held_ > 0; })) << "a watch is open";
  url_ = "http://127.0.0.1:1";
  clock_.Advance(std::chrono::minutes(1));
  connection_.Turn();
  EXPECT_EQ(connection_.used()->endpoint.url, url_);
  connection_.Turn();
  EXPECT_EQ(closed_, 0) << "the watches go on meanwhile";
  may_answer_.count_down();
  EXPECT_TRUE(base::WaitUntil([&] {
    for (const auto& task : tasks_.Wait(std::chrono::milliseconds(10))) task();
    connection_.Turn();
    return answered.has_value() && closed_ > 0;
  }));
  EXPECT_TRUE(*answered);
}

}  // namespace
}  // namespace plugin

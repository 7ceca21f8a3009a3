#include "pkg/kube/runtime/health_server.h"

#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/kube/runtime/process_metrics.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using http::testing::BodyOf;
using http::testing::RawClient;
using http::testing::StatusOf;

class HealthServerTest : public ::testing::Test {
 protected:
  HealthOptions Options() {
    return {.live = {{.name = "loop", .run = [] { return Result<void>(); }}},
            .ready = {{.name = "caches",
                       .run = [this]() -> Result<void> {
                         if (is_ready_) return {};
                         return Fail(ErrorCode::kUnavailable, "pods not listed yet");
                       }}},
            .metrics = {registry_, std::make_shared<ProcessMetrics>(still_)}};
  }
  // "<status> <body>"
  std::string Get(int port, const std::string& path) {
    http::CurlTransport transport({.url = "http://127.0.0.1:" + std::to_string(port)}, credentials_,
                                  "test");
    const Result<http::Response> reply = transport.Send({.path = path});
    return reply ? std::to_string(reply->status) + " " + reply->body.text() : reply.error().message;
  }

  const base::ManualClock still_;  // With it nobody is cut off, however slow the test is.
  http::testing::FakeCredentials credentials_;
  std::atomic<bool> is_ready_ = false;
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
};

TEST_F(HealthServerTest, EachEndpointHasItsChecks) {
  HealthServer server(Options(), still_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_EQ(Get(*port, "/livez"), "200 ok");
  EXPECT_EQ(Get(*port, "/healthz"), "200 ok");
  EXPECT_EQ(Get(*port, "/livez/loop"), "200 ok");
  EXPECT_EQ(Get(*port, "/readyz"),
            "500 [-]caches failed: pods not listed yet\nreadyz check failed\n");
  is_ready_ = true;
  EXPECT_EQ(Get(*port, "/readyz"), "200 ok");
  EXPECT_EQ(Get(*port, "/readyz?verbose"), "200 [+]caches ok\nreadyz check passed\n");
  for (const char* path : {"/", "/readyzz", "/metricsx", "/livez/caches"}) {
    EXPECT_TRUE(Get(*port, path).starts_with("404 ")) << path;
  }
}

TEST_F(HealthServerTest, MetricsAreThoseOfAllRegistriesAtTheirPath) {
  auto& family =
      prometheus::BuildCounter().Name("cdom_test_total").Help("A test.").Register(*registry_);
  family.Add({{"a", "b"}}).Increment(3);
  HealthOptions options = Options();
  options.metrics_path = "/custom";
  HealthServer server(std::move(options), still_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  const std::string text = Get(*port, "/custom");
  EXPECT_TRUE(text.starts_with("200 ")) << text;
  for (const char* part : {"# TYPE cdom_test_total counter", "cdom_test_total{a=\"b\"} 3",
                           "# TYPE process_open_fds gauge"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_TRUE(Get(*port, "/metrics").starts_with("404 "));
}

TEST_F(HealthServerTest, ServerWithoutMetricsHasNoPathForThem) {
  HealthServer server({}, still_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_TRUE(Get(*port, "/metrics").starts_with("404 "));
  EXPECT_EQ(Get(*port, "/readyz"), "200 ok");
}

TEST_F(HealthServerTest, PagesAreAtTheirPathsAndNowhereElse) {
  HealthOptions options = Options();
  options.pages = {{"/debug/things", [] { return R"([1])"; }}};
  HealthServer server(options, still_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_EQ(Get(*port, "/debug/things"), "200 [1]");
  EXPECT_EQ(Get(*port, "/debug/things/1"), "404 not found\n");
}

// Collects nothing, once it may.
class BlockedMetrics final : public prometheus::Collectable {
 public:
  explicit BlockedMetrics(std::latch& released) : released_(released) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    released_.wait();
    return {};
  }

 private:
  std::latch& released_;
};

TEST_F(HealthServerTest, C15_ProbesWaitNeitherForMetricsNorForPages) {
  std::latch released(1);
  HealthOptions options = Options();
  options.metrics.push_back(std::make_shared<BlockedMetrics>(released));
  options.pages = {{"/debug/things", [&] {
                      released.wait();
                      return "[]";
                    }}};
  is_ready_ = true;
  HealthServer server(options, still_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const char* path : {"/metrics", "/debug/things", "/metrics", "/debug/things"}) {
    clients.push_back(std::make_unique<RawClient>(*port));
    clients.back()->Write("GET " + std::string(path) + " HTTP/1.1\r\n\r\n");
  }
  for (int i = 0; i < 20; ++i) {
    for (const char* path : {"/livez", "/readyz", "/healthz"})
      EXPECT_EQ(Get(*port, path), "200 ok");
  }
  released.count_down();
  for (const auto& client : clients) EXPECT_EQ(StatusOf(client->ReadAll()), 200);
}

constexpr std::string_view kAskForThings =
    "GET /debug/things HTTP/1.1\r\nAccept-Encoding: br, gzip\r\n\r\n";

// A page of the size of many domains, and its clients.
class HealthServerUnderAttack : public HealthServerTest {
 protected:
  HealthServerUnderAttack() {
    HealthOptions options = Options();
    options.pages = {{"/debug/things", [this] { return page_; }}};
    server_ = std::make_unique<HealthServer>(std::move(options), still_);
    const Result<int> port = server_->Start("127.0.0.1:0");
    EXPECT_TRUE(port);
    port_ = port.value_or(0);
  }
  void Attack(int count) {
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<RawClient>(port_, 16 << 10));
      clients_.back()->Write(kAskForThings);
    }
  }

  const std::string page_ = std::string(2U << 20, 'x');
  std::unique_ptr<HealthServer> server_;
  int port_ = 0;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(HealthServerUnderAttack,
       Z2_ProbesAreAnsweredWhileTwelveAskForALargePageThatIsNotCompressed) {
  std::atomic<bool> is_over = false;
  std::vector<std::string> answers(12);
  std::vector<std::jthread> attackers;
  for (std::string& answer : answers) {
    attackers.emplace_back([&] {
      do {
        const RawClient client(port_);
        client.Write(kAskForThings);
        answer = client.ReadAll();
      } while (!is_over);
    });
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Get(port_, "/livez"), "200 ok");
  is_over = true;
  attackers.clear();
  for (const std::string& answer : answers) {
    EXPECT_EQ(answer.find("Content-Encoding"), std::string::npos);
    EXPECT_TRUE(StatusOf(answer) == 503 || BodyOf(answer) == page_) << answer.substr(0, 200);
  }
}

TEST_F(HealthServerUnderAttack, S2_HundredThatDoNotReadHoldNoMoreBytesThanTheBound) {
  constexpr std::size_t kBound = 16U << 20;
  Attack(100);
  std::size_t held = 0;
  int refused = 0;
  for (const auto& client : clients_) {
    const int status = StatusOf(client->Peek());
    if (status == 200) held += page_.size();
    if (status == 503) ++refused;
  }
  EXPECT_GT(held, 0U);
  EXPECT_LE(held, kBound);
  EXPECT_EQ(held / page_.size() + static_cast<std::size_t>(refused), clients_.size());
  EXPECT_EQ(Get(port_, "/livez"), "200 ok");
}

TEST_F(HealthServerTest, PortInUseIsAClearError) {
  HealthServer first({}, still_);
  const Result<int> port = first.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  HealthServer second({}, still_);
  const std::string address = "127.0.0.1:" + std::to_string(*port);
  const Result<int> failed = second.Start(address);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message, "listen on " + address + ": Address already in use");
}

}  // namespace
}  // namespace kube

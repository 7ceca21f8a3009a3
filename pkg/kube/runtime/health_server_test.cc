#include "pkg/kube/runtime/health_server.h"

#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <atomic>
#include <string>
#include <vector>

#include "pkg/base/system_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/kube/runtime/process_metrics.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

class HealthServerTest : public ::testing::Test {
 protected:
  HealthOptions Options() {
    return {.live = {{.name = "loop", .run = [] { return Result<void>(); }}},
            .ready = {{.name = "caches",
                       .run = [this]() -> Result<void> {
                         if (is_ready_) return {};
                         return Fail(ErrorCode::kUnavailable, "pods not listed yet");
                       }}},
            .metrics = {registry_, std::make_shared<ProcessMetrics>(clock_)}};
  }
  // "<status> <body>"
  std::string Get(int port, const std::string& path) {
    http::CurlTransport transport({.url = "http://127.0.0.1:" + std::to_string(port)}, credentials_,
                                  "test");
    const Result<http::Response> reply = transport.Send({.path = path});
    return reply ? std::to_string(reply->status) + " " + reply->body : reply.error().message;
  }

  base::SystemClock clock_;
  http::testing::FakeCredentials credentials_;
  std::atomic<bool> is_ready_ = false;
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
};

TEST_F(HealthServerTest, EachEndpointHasItsChecks) {
  HealthServer server(Options(), clock_);
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
  HealthServer server(std::move(options), clock_);
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
  HealthServer server({}, clock_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_TRUE(Get(*port, "/metrics").starts_with("404 "));
  EXPECT_EQ(Get(*port, "/readyz"), "200 ok");
}

TEST_F(HealthServerTest, PagesAreAtTheirPathsAndNowhereElse) {
  HealthOptions options = Options();
  options.pages = {{"/debug/things", [] { return R"([1])"; }}};
  HealthServer server(options, clock_);
  const Result<int> port = server.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_EQ(Get(*port, "/debug/things"), "200 [1]");
  EXPECT_EQ(Get(*port, "/debug/things/1"), "404 not found\n");
}

TEST_F(HealthServerTest, PortInUseIsAClearError) {
  HealthServer first({}, clock_);
  const Result<int> port = first.Start("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  HealthServer second({}, clock_);
  const std::string address = "127.0.0.1:" + std::to_string(*port);
  const Result<int> failed = second.Start(address);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message, "listen on " + address + ": Address already in use");
}

}  // namespace
}  // namespace kube

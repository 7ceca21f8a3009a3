#include "pkg/kube/runtime/metrics_server.h"

#include <gtest/gtest.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/testing/certificates.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"

namespace kube {
namespace {

using base::Result;
using http::testing::CertificateAuthority;
using std::chrono::seconds;

// "MESSAGE VALUE..." of each line, in one text.
class Lines final : public base::Logger {
 public:
  void Log(base::LogLevel /*level*/, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    std::string line(message);
    for (const base::LogField& field : fields) line += " " + field.value;
    lines_.With([&](auto& lines) { lines.push_back(line); });
  }
  // How many lines begin so.
  std::size_t Count(std::string_view beginning) const {
    return lines_.With([&](const auto& lines) {
      return static_cast<std::size_t>(std::ranges::count_if(
          lines, [&](const std::string& line) { return line.starts_with(beginning); }));
    });
  }
  // The last word of the last line.
  std::string LastWord() const {
    return lines_.With([](const auto& lines) {
      return lines.empty() ? "" : lines.back().substr(lines.back().rfind(' ') + 1);
    });
  }

 private:
  base::Guarded<std::vector<std::string>> lines_;
};

// Knows two tokens: "good" may, "bad" may not. Answers nothing while it is away.
class ApiServer final : public http::Transport {
 public:
  std::vector<Result<http::Response>> SendAll(const std::vector<http::Request>& requests) override {
    std::vector<Result<http::Response>> replies;
    for (const http::Request& request : requests) {
      ++asked;
      if (is_away) {
        replies.emplace_back(base::Fail(base::ErrorCode::kUnavailable, "connection refused"));
      } else {
        replies.emplace_back(http::Response{.status = 201, .body = BodyFor(request)});
      }
    }
    return replies;
  }
  std::atomic<int> asked = 0;
  std::atomic<bool> is_away = false;

 private:
  static std::string BodyFor(const http::Request& request) {
    const auto has = [&](std::string_view text) {
      return request.body.find(text) != std::string::npos;
    };
    if (request.path.ends_with("/subjectaccessreviews")) {
      return has("user-good") ? R"({"status":{"allowed":true}})" : R"({"status":{}})";
    }
    for (const char* name : {"good", "bad"}) {
      if (!has("\"token\":\"" + std::string(name) + "\"")) continue;
      return R"({"status":{"authenticated":true,"user":{"username":"user-)" + std::string(name) +
             R"("}}})";
    }
    return R"({"status":{}})";
  }
};

class MetricsServerTest : public ::testing::Test {
 protected:
  MetricsServerTest() {
    prometheus::BuildGauge().Name("secret_project").Register(*registry_).Add({}).Set(2);
    std::string pattern = std::filesystem::temp_directory_path() / "cdom-metrics.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MetricsServerTest() override {
    for (const char* name : {"tls.crt", "tls.key"}) std::filesystem::remove(folder_ / name);
    std::filesystem::remove(folder_);
  }

  MetricsServerOptions Options(bool from_files) const {
    MetricsServerOptions options = {
        .address = "127.0.0.1:0", .metrics = {registry_}, .dns_name = "controller"};
    if (!from_files) return options;
    options.certificate_file = folder_ / "tls.crt";
    options.key_file = folder_ / "tls.key";
    return options;
  }
  MetricsServer& Make(bool from_files = false) {
    server_ = std::make_unique<MetricsServer>(Options(from_files), api_server_, clock_, log_);
    return *server_;
  }
  // It serves from here on.
  void Serve(bool from_files = false) {
    Make(from_files).Poll();
    ASSERT_EQ(log_.Count("Serving metrics over TLS"), 1U);
    port_ = log_.LastWord();
  }
  void PollLater(seconds later = seconds(5)) {
    clock_.Advance(later);
    server_->Poll();
  }
  void Write(const http::testing::Certificate& certificate) const {
    std::ofstream(folder_ / "tls.crt") << certificate.pem;
    std::ofstream(folder_ / "tls.key") << certificate.key_pem;
  }
  // "<status> <body>", or why there is none. `name`: what the server must prove to be. Empty:
  // nothing.
  std::string Get(const std::string& token, const std::string& path = "/metrics",
                  const std::string& name = "") const {
    http::testing::FakeCredentials credentials({token});
    http::CurlTransport transport({.url = "https://127.0.0.1:" + port_,
                                   .ca_pem = name.empty() ? "" : ca_.pem(),
                                   .insecure = name.empty(),
                                   .tls_server_name = name},
                                  credentials, "test");
    const Result<http::Response> reply = transport.Send({.path = path});
    return reply ? std::to_string(reply->status) + " " + reply->body.text() : reply.error().message;
  }

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  const CertificateAuthority ca_{"the CA of the test"};
  std::filesystem::path folder_;
  base::ManualClock clock_;  // So nobody is cut off, however slow the test is.
  Lines log_;
  ApiServer api_server_;
  std::unique_ptr<MetricsServer> server_;
  std::string port_;
};

TEST_F(MetricsServerTest, REV3_X8_OnlyWhoMayReadThemGetsMetrics) {
  Serve();
  EXPECT_EQ(Get(""), "401 401: send the bearer token of an account that may get /metrics\n");
  EXPECT_EQ(api_server_.asked, 0);
  EXPECT_EQ(Get("unknown"), "401 401: the API server does not know this token\n");
  EXPECT_EQ(Get("bad"),
            "403 403: user-bad may not get /metrics: grant it a ClusterRole with that path in "
            "nonResourceURLs\n");
  const std::string page = Get("good");
  EXPECT_TRUE(page.starts_with("200 ")) << page;
  EXPECT_NE(page.find("\nsecret_project 2\n"), std::string::npos) << page;
  EXPECT_EQ(Get("good", "/livez"), "404 not found\n");
}

TEST_F(MetricsServerTest, REV3_X8_NothingIsTold_WhenTheApiServerIsAway) {
  Serve();
  api_server_.is_away = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Get("good"), "503 503: the API server did not say who may read this; try again\n");
  }
  EXPECT_EQ(log_.Count("Refusing metrics, because the API server does not review tokens"), 1U);
  api_server_.is_away = false;
  EXPECT_TRUE(Get("good").starts_with("200 "));
}

TEST_F(MetricsServerTest, REV3_X8_ClientsThatDoNothingKeepNobodyWaiting) {
  Serve();
  std::vector<std::unique_ptr<http::testing::RawClient>> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(std::make_unique<http::testing::RawClient>(std::stoi(port_)));
  }
  EXPECT_TRUE(Get("good").starts_with("200 "));
}

TEST_F(MetricsServerTest, REV3_X8_CertificateComesFromFilesAndIsReadAgain) {
  Write(ca_.Issue("one", "DNS:one"));
  Serve(true);
  EXPECT_TRUE(Get("good", "/metrics", "one").starts_with("200 "));
  const http::testing::Certificate two = ca_.Issue("two", "DNS:two");
  std::ofstream(folder_ / "tls.crt") << two.pem;
  PollLater();
  EXPECT_EQ(log_.Count("Serving metrics with the previous certificate"), 1U);
  EXPECT_TRUE(Get("good", "/metrics", "one").starts_with("200 ")) << "half of a pair is none";
  Write(two);
  PollLater();
  EXPECT_EQ(log_.Count("Serving metrics with a new certificate"), 0U) << "seen once";
  PollLater();
  EXPECT_EQ(log_.Count("Serving metrics with a new certificate"), 1U);
  EXPECT_TRUE(Get("good", "/metrics", "two").starts_with("200 "));
}

TEST_F(MetricsServerTest, REV3_X8_FilesThatComeLateAreWaitedFor) {
  MetricsServer& server = Make(true);
  server.Poll();
  PollLater();
  EXPECT_EQ(log_.Count("No metrics are served over TLS, will retry"), 1U) << "told once";
  Write(ca_.Issue("one", "DNS:one"));
  server.Poll();
  EXPECT_EQ(log_.Count("Serving metrics over TLS"), 0U) << "not yet looked for";
  PollLater();
  port_ = log_.LastWord();
  EXPECT_TRUE(Get("good", "/metrics", "one").starts_with("200 "));
}

TEST_F(MetricsServerTest, REV3_X8_OwnCertificateIsNewEveryThirtyDays) {
  Serve();
  PollLater(std::chrono::hours(24 * 30 - 1));
  EXPECT_EQ(log_.Count("Serving metrics with a new certificate"), 0U);
  PollLater(std::chrono::hours(1));
  EXPECT_EQ(log_.Count("Serving metrics with a new certificate"), 1U);
  EXPECT_TRUE(Get("good").starts_with("200 "));
}

TEST_F(MetricsServerTest, REV3_X8_WithoutAnAddressNothingIsServed) {
  MetricsServerOptions options = Options(false);
  options.address.clear();
  MetricsServer server(options, api_server_, clock_, log_);
  server.Poll();
  EXPECT_EQ(log_.Count(""), 0U);
}

}  // namespace
}  // namespace kube

#include "controller/process/process.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <latch>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "pkg/base/mutex.h"
#include "pkg/base/system_clock.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/raw_server.h"

namespace process {
namespace {

using http::testing::BodyOf;
using http::testing::RawClient;
using http::testing::RawServer;
using http::testing::StatusOf;
using std::chrono::hours;
using std::chrono::minutes;

// Waits for the lines that say where something is served.
class PortLogger final : public base::Logger {
 public:
  void Log(base::LogLevel /*level*/, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    const base::MutexLock lock(mutex_);
    for (const base::LogField& field : fields) {
      if (field.key == "port") ports_[std::string(message)] = std::stoi(field.value);
    }
    said_cv_.notify_all();
  }
  [[nodiscard]] int PortOf(const std::string& message) {
    const base::MutexLock lock(mutex_);
    while (!ports_.contains(message)) said_cv_.wait(mutex_);
    return ports_[message];
  }

 private:
  base::Mutex mutex_;
  std::condition_variable_any said_cv_;
  std::map<std::string, int> ports_ GUARDED_BY(mutex_);
};

// A run against an API server that answers nothing, and hangs up once that is asked for.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    settings_.pod_name = "controller-0";
    settings_.image = "image";
    settings_.lease_namespace = settings_.ns;
    settings_.lease = {
        .lease_duration = hours(3), .renew_deadline = hours(2), .retry_period = hours(1)};
    settings_.http_endpoint = "127.0.0.1:0";
    settings_.debug_endpoint = "127.0.0.1:0";
  }
  ~ProcessTest() override {
    stop_.request_stop();
    hang_up_.count_down();
  }

  void StartRun() {
    run_ = std::jthread([this] {
      kube::ClientConfig config = {
          .endpoint = {.url = api_server_.url()},
          .credentials = std::make_unique<http::testing::FakeCredentials>()};
      EXPECT_EQ(process::Run(
                    {.settings = settings_, .clock = clock_, .logger = logger_, .load_config = {}},
                    std::move(config), stop_.get_token()),
                End::kStopped);
    });
    lease_asked_.wait();
    health_ = logger_.PortOf("Serving health and metrics");
    debug_ = logger_.PortOf("Serving debug pages");
  }
  static std::string Get(int port, const std::string& path) {
    const RawClient client(port);
    client.Write("GET " + path + " HTTP/1.1\r\n\r\n");
    const std::string answer = client.ReadAll();
    return std::to_string(StatusOf(answer)) + " " + BodyOf(answer);
  }

  settings::Settings settings_;
  const base::SystemClock clock_;
  PortLogger logger_;
  std::latch lease_asked_{1};
  std::latch hang_up_{1};
  RawServer api_server_{[this](RawServer::Connection& connection) {
    const std::string request = connection.ReadRequest();
    if (request.find("/leases/") == std::string::npos) return connection.WaitForClose();
    lease_asked_.count_down();
    hang_up_.wait();
    connection.Reset();
  }};
  std::stop_source stop_;
  int health_ = 0;
  int debug_ = 0;
  std::jthread run_;
};

TEST_F(ProcessTest, C15_DebugPagesAreNotWhereProbesAndMetricsAre) {
  StartRun();
  EXPECT_EQ(Get(health_, "/livez"), "200 ok");
  EXPECT_TRUE(Get(health_, "/metrics").starts_with("200 "));
  EXPECT_EQ(Get(health_, "/debug/domains"), "404 not found\n");
  EXPECT_EQ(Get(debug_, "/debug/domains"), "200 []");
  EXPECT_EQ(Get(debug_, "/metrics"), "404 not found\n");
}

TEST_F(ProcessTest, M7_ProcessThatIsEndingIsNotReady) {
  StartRun();
  EXPECT_EQ(Get(health_, "/readyz/shutdown"), "200 ok");
  stop_.request_stop();
  const auto deadline = clock_.Now() + minutes(1);
  std::string answer;
  while (!answer.starts_with("500 ") && clock_.Now() < deadline) {
    answer = Get(health_, "/readyz/shutdown");
  }
  EXPECT_EQ(answer, "500 shutdown failed: the process is ending\n");
  EXPECT_EQ(Get(health_, "/livez"), "200 ok");
}

}  // namespace
}  // namespace process

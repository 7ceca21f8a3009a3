#include "controller/process/process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/json/value.h"

namespace process {
namespace {

using http::testing::BodyOf;
using http::testing::RawClient;
using http::testing::RawServer;
using http::testing::StatusOf;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

// Remembers what was said, and where something is served.
class TestLogger final : public base::Logger {
 public:
  void Log(base::LogLevel /*level*/, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    const base::MutexLock lock(mutex_);
    said_.emplace(message);
    for (const base::LogField& field : fields) {
      if (field.key == "port") ports_[std::string(message)] = std::stoi(field.value);
    }
    said_cv_.notify_all();
  }
  // Waits for the line that says it.
  int PortOf(const std::string& message) {
    const base::MutexLock lock(mutex_);
    while (!ports_.contains(message)) said_cv_.wait(mutex_);
    return ports_[message];
  }
  bool Said(const std::string& message) {
    const base::MutexLock lock(mutex_);
    return said_.contains(message);
  }

 private:
  base::Mutex mutex_;
  std::condition_variable_any said_cv_;
  std::set<std::string> said_ GUARDED_BY(mutex_);
  std::map<std::string, int> ports_ GUARDED_BY(mutex_);
};

// A review stores nothing.
bool Writes(const std::string& request) {
  return !request.starts_with("GET ") && request.find("/selfsubjectreviews ") == std::string::npos;
}

// How the reply to a WATCH begins.
constexpr const char* kOpenStream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// The reply of an API server that has no objects at all: to a LIST; a WATCH stays open.
// But for `domains`.
std::string ListOf(const std::string& domains, const std::string& request) {
  static const std::map<std::string, std::string> kinds = {
      {"computedomains", "ComputeDomain"},
      {"computedomaincliques", "ComputeDomainClique"},
      {"resourceclaimtemplates", "ResourceClaimTemplate"},
      {"resourceclaims", "ResourceClaim"},
      {"resourceslices", "ResourceSlice"},
      {"nodes", "Node"},
      {"daemonsets", "DaemonSet"},
      {"pods", "Pod"}};
  const std::string path = request.substr(0, request.find('?'));
  const auto kind = kinds.find(path.substr(path.rfind('/') + 1));
  return http::testing::Reply(200, R"({"kind":")" + (kind == kinds.end() ? "" : kind->second) +
                                       R"(List","metadata":{"resourceVersion":"7"},"items":[)" +
                                       (path.ends_with("/computedomains") ? domains : "") + "]}");
}

// A domain that was served while IMEX ran on the hosts.
constexpr const char* kOfTheHosts =
    R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomain","metadata":{)"
    R"("name":"train","namespace":"default","uid":"u","resourceVersion":"5","generation":1},)"
    R"("spec":{"channel":{"resourceClaimTemplate":{"name":"c"}}},"status":{"status":"Ready",)"
    R"("conditions":[{"type":"MembersReady","status":"Unknown","reason":"HostManaged"}]}})";

// A domain that nothing was done for.
constexpr const char* kNew =
    R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomain","metadata":{)"
    R"("name":"train","namespace":"default","uid":"u","resourceVersion":"5","generation":1},)"
    R"("spec":{"numNodes":0,"channel":{"resourceClaimTemplate":{"name":"c"}}}})";

class Token final : public http::Credentials {
 public:
  explicit Token(std::string token) : token_(std::move(token)) {}
  std::string BearerToken() override { return token_; }
  void Invalidate() override {}
  std::string Source() const override { return token_; }

 private:
  const std::string token_;
};

// Returns the last part of the path.
std::string NameIn(const std::string& request) {
  const std::string path = request.substr(0, request.find(" HTTP/"));
  return path.substr(path.rfind('/') + 1);
}

// Grants the Lease to the replica that asks.
class LeaseStore {
 public:
  std::string Answer(const std::string& request) {
    const base::MutexLock lock(mutex_);
    if (!request.starts_with("GET ")) {
      const auto body = json::Parse(request.substr(request.find("\r\n\r\n") + 4));
      lease_ = body ? *body : json::Value();
      lease_["metadata"]["resourceVersion"] = std::to_string(++version_);
    } else if (Name() != NameIn(request)) {
      return http::testing::Reply(
          404, R"({"kind":"Status","code":404,"reason":"NotFound","details":{"kind":"leases",)"
               R"("name":")" +
                   NameIn(request) + R"("}})");
    }
    return http::testing::Reply(200, json::Serialize(lease_));
  }
  std::string Holder() {
    const base::MutexLock lock(mutex_);
    return std::as_const(lease_)["spec"]["holderIdentity"].AsString();
  }

 private:
  // Empty if nobody has asked for it.
  std::string Name() const REQUIRES(mutex_) { return lease_["metadata"]["name"].AsString(); }

  base::Mutex mutex_;
  json::Value lease_ GUARDED_BY(mutex_);
  int version_ GUARDED_BY(mutex_) = 0;
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
      const auto cannot_load = []() -> base::Result<kube::ClientConfig> {
        return base::Fail(base::ErrorCode::kUnavailable, "there is no file");
      };
      EXPECT_EQ(process::Run({.settings = settings_,
                              .clock = clock_,
                              .logger = logger_,
                              .fitness = fitness_,
                              .load_config = cannot_load},
                             std::move(config), stop_.get_token()),
                end_);
    });
    if (!settings_.dry_run) lease_asked_.wait();
    health_ = logger_.PortOf("Serving health and metrics");
    debug_ = logger_.PortOf("Serving debug pages");
  }
  static std::string Get(int port, const std::string& path) {
    const RawClient client(port);
    client.Write("GET " + path + " HTTP/1.1\r\n\r\n");
    const std::string answer = client.ReadAll();
    return std::to_string(StatusOf(answer)) + " " + BodyOf(answer);
  }

  static std::chrono::nanoseconds RealTime() {
    return base::SystemClock().Now().time_since_epoch();
  }

  // Asks until `wanted` is the start of the answer.
  static std::string GetUntil(int port, const std::string& path, const std::string& wanted) {
    std::string answer;
    EXPECT_TRUE(base::WaitUntil([&] { return (answer = Get(port, path)).starts_with(wanted); }));
    return answer;
  }
  bool Says(const std::string& message) {
    return base::WaitUntil([&] { return logger_.Said(message); });
  }
  bool MetricsSay(const std::string& text) const {
    return base::WaitUntil(
        [&] { return Get(health_, "/metrics").find(text) != std::string::npos; });
  }

  // Returns whether the API server gets a request that begins so.
  bool Gets(const std::string& request) {
    return base::WaitUntil([&] {
      return std::ranges::any_of(api_server_.requests(),
                                 [&](const std::string& one) { return one.starts_with(request); });
    });
  }

  settings::Settings settings_;
  std::atomic<std::chrono::nanoseconds> stopped_at_ = std::chrono::nanoseconds();  // Zero: it goes.
  base::ManualClock clock_{[this] {
    const std::chrono::nanoseconds stopped_at = stopped_at_;
    return stopped_at.count() > 0 ? stopped_at : RealTime();
  }};
  kube::Fitness fitness_;
  ExitReason end_ = ExitReason::kStopped;  // How the run is to end.
  TestLogger logger_;
  std::latch lease_asked_{1};
  std::latch hang_up_{1};
  std::atomic<bool> writes_ = false;  // It has sent a request that writes.
  std::string lease_answer_ = {};     // Empty: hangs up.
  bool grants_lease_ = false;         // Or it answers as an API server does.
  LeaseStore lease_;
  // What there is, as a LIST shows it. Unset: a LIST is not answered.
  std::optional<std::string> domains_ = {};
  std::string unreadable_ = {};  // Part of requests that are answered with `refusal_`.
  std::string refusal_ = http::testing::Reply(500, "etcd has no leader");
  RawServer api_server_{[this](RawServer::Connection& connection) {
    for (;;) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (Writes(request)) writes_ = true;
      const char* const lease = request.starts_with("POST ") ? "/leases" : "/leases/";
      if (grants_lease_ && request.find(lease) != std::string::npos) {
        connection.Write(lease_.Answer(request));
        if (!lease_asked_.try_wait()) lease_asked_.count_down();
        continue;
      }
      if (request.find("/leases/") != std::string::npos) {
        if (!lease_answer_.empty()) connection.Write(lease_answer_);
        if (!lease_asked_.try_wait()) lease_asked_.count_down();
        if (!lease_answer_.empty()) continue;
        hang_up_.wait();
        return connection.Reset();
      }
      if (request.starts_with("GET /api/v1/namespaces?")) {
        connection.Write(http::testing::Reply(403, "no"));  // As for cdom's own account.
        continue;
      }
      if (!unreadable_.empty() &&
          request.substr(0, request.find('\r')).find(unreadable_) != std::string::npos) {
        connection.Write(refusal_);
        continue;
      }
      if (request.starts_with("GET /apis/resource.nvidia.com/v1beta1 ")) {
        connection.Write(http::testing::Reply(
            200, R"({"kind":"APIResourceList","resources":[{"name":"computedomains"}]})"));
        continue;
      }
      const bool is_watch = request.find("watch=") != std::string::npos;
      if (is_watch && domains_) connection.Write(kOpenStream);
      if (is_watch || !domains_) return connection.WaitForClose();
      connection.Write(ListOf(*domains_, request));
    }
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
  EXPECT_EQ(Get(debug_, "/debug/cliques"), "200 []");
  EXPECT_EQ(Get(debug_, "/metrics"), "404 not found\n");
  for (const char* folder : {"/", "/debug", "/debug/"}) {
    EXPECT_EQ(Get(debug_, folder), "200 /debug/cliques\n/debug/domains\n") << folder;
  }
  EXPECT_EQ(Get(debug_, "/debu"), "404 not found\n");
  EXPECT_EQ(Get(health_, "/"), "404 not found\n");
}

TEST_F(ProcessTest, M7_ProcessThatIsEndingIsNotReady) {
  StartRun();
  EXPECT_EQ(Get(health_, "/readyz/shutdown"), "200 ok");
  EXPECT_EQ(Get(health_, "/readyz/watches"), "200 ok");
  stopped_at_ = RealTime();  // It waits for the answer about its Lease until this test is over.
  stop_.request_stop();
  EXPECT_EQ(GetUntil(health_, "/readyz/shutdown", "500 "),
            "500 shutdown failed: the process is ending\n");
  EXPECT_EQ(Get(health_, "/livez"), "200 ok");
}

TEST_F(ProcessTest, UserIsKnownBeforeItLeads) {
  domains_ = "";
  StartRun();
  EXPECT_TRUE(Gets("POST /apis/authentication.k8s.io/v1/selfsubjectreviews"));
  EXPECT_FALSE(logger_.Said("Leading"));
}

TEST_F(ProcessTest, M4_ProcessEndsThoughTheApiServerHangs) {
  StartRun();
  stop_.request_stop();
  run_.join();  // The API server has answered nothing, and would not for hours.
  EXPECT_FALSE(hang_up_.try_wait());
}

constexpr const char* kAdmission =
    "PATCH /apis/resource.nvidia.com/v1beta1/namespaces/default/computedomains/train";

TEST_F(ProcessTest, REV4_K8_ReplicaWithoutDomains_DoesNotAskForTheLease) {
  unreadable_ = "/computedomains?";
  grants_lease_ = true;
  domains_ = "";
  StartRun();
  const auto says_why = [&] {
    return Get(health_, "/readyz/caches").find("etcd has no leader") != std::string::npos;
  };
  EXPECT_TRUE(base::WaitUntil(says_why));
  clock_.Advance(std::chrono::seconds(31));
  EXPECT_TRUE(Says("Cannot serve"));
  EXPECT_TRUE(MetricsSay("\ncdom_can_serve 0\n"));
  EXPECT_EQ(lease_.Holder(), "");
}

TEST_F(ProcessTest, REV4_K8_ReplicaWithoutTheCrdOfCliques_Serves) {
  unreadable_ = "/computedomaincliques?";
  refusal_ = http::testing::Reply(404, "404 page not found\n");
  grants_lease_ = true;
  domains_ = kNew;
  StartRun();
  EXPECT_TRUE(Gets(kAdmission));
  EXPECT_TRUE(logger_.Said("Continuing without a resource that cannot be read"));
  EXPECT_TRUE(MetricsSay("\ncdom_can_serve 1\n"));
}

TEST_F(ProcessTest, REV4_K8_ReplicaWithoutSlices_ServesAfterHalfAMinute) {
  unreadable_ = "/resourceslices?";
  grants_lease_ = true;
  domains_ = kNew;
  StartRun();
  ASSERT_TRUE(Says("Cannot list a resource"));
  EXPECT_EQ(lease_.Holder(), "");
  clock_.Advance(std::chrono::seconds(31));
  EXPECT_TRUE(Gets(kAdmission));
}

// Its lists were read, and its watches fail.
TEST_F(ProcessTest, REV4_K8_LeaderThatCannotServe_GivesTheLeaseUp) {
  unreadable_ = "watch=";
  grants_lease_ = true;
  domains_ = "";
  settings_.lease = {.lease_duration = hours(30'000),
                     .renew_deadline = hours(20'000),
                     .retry_period = hours(10'000)};  // Its time flies.
  end_ = ExitReason::kCannotServe;
  StartRun();
  ASSERT_TRUE(Says("Leading"));
  const auto gives_up = [&] {
    clock_.Advance(std::chrono::seconds(5));
    return logger_.Said("Giving up the Lease, because no domain can be served for a minute");
  };
  EXPECT_TRUE(base::WaitUntil(gives_up));
  run_.join();
  EXPECT_EQ(lease_.Holder(), "");
  fitness_.Observe(clock_.Now(), true);
  EXPECT_FALSE(fitness_.MayAsk(clock_.Now())) << "it waits for a minute";
}

TEST_F(ProcessTest, REV3_F11_StandbyThatWaitsAsLongAsTheServerAskedIsAlive) {
  lease_answer_ = http::testing::Reply(503, "", "Retry-After: 3600\r\n");
  StartRun();
  // It has the answer, and has nothing to do but to wait.
  ASSERT_TRUE(MetricsSay(R"(rest_client_requests_total{code="503")"));
  clock_.Advance(std::chrono::seconds(31));
  EXPECT_EQ(GetUntil(health_, "/livez", "200 ok"), "200 ok");
}

// Of another, who leads.
constexpr const char* kLease =
    R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"lease",)"
    R"("namespace":"cdom-system","resourceVersion":"3","uid":"l"},"spec":{"holderIdentity":"other",)"
    R"("leaseDurationSeconds":10800,"acquireTime":"2026-01-01T00:00:00.000000Z",)"
    R"("renewTime":"2026-01-01T00:00:00.000000Z","leaseTransitions":1}})";

TEST_F(ProcessTest, REV3_F10_StandbyQueuesNothing) {
  lease_answer_ = http::testing::Reply(200, kLease);
  domains_ = kOfTheHosts;
  StartRun();
  ASSERT_EQ(GetUntil(health_, "/readyz/caches", "200 ok"), "200 ok");  // So it has seen the domain.
  const std::string metrics = Get(health_, "/metrics");
  EXPECT_NE(metrics.find("\nworkqueue_adds_total{name=\"compute-domain\"} 0\n"), std::string::npos)
      << metrics;
}

TEST_F(ProcessTest, DryRun_PlansWithoutALease_AndWritesNothing) {
  settings_.dry_run = true;
  lease_answer_ = http::testing::Reply(404, "");  // An elector would create it.
  domains_ = kNew;
  StartRun();
  EXPECT_TRUE(Says("Would act"));
  EXPECT_TRUE(Says("Dry run: writes are only logged"));
  EXPECT_TRUE(
      MetricsSay("\nleader_election_master_status{name=\"compute-domain-controller\"} 0\n"));
  EXPECT_EQ(Get(health_, "/readyz"), "200 ok");
  clock_.Advance(std::chrono::seconds(31));  // Longer than a thread may say nothing.
  EXPECT_EQ(GetUntil(health_, "/livez", "200 ok"), "200 ok");
  stop_.request_stop();
  run_.join();
  EXPECT_FALSE(lease_asked_.try_wait()) << "it neither reads nor releases a Lease";
  EXPECT_FALSE(writes_);
  EXPECT_FALSE(logger_.Said("Reconciling"));
}

using Change = std::function<void(kube::ClientConfig&)>;

// A run where there are `domains`. Once it is synced, the files say what `change` makes of how it
// was begun. `writes` says whether it wrote.
ExitReason RunWhoseFilesAre(const Change& change, std::stop_source& stop,
                            const std::string& domains = "", bool* writes = nullptr) {
  std::atomic<bool> wrote = false;
  RawServer api_server([&](RawServer::Connection& connection) {
    for (;;) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (request.find("watch=") != std::string::npos) {
        connection.Write(kOpenStream);
        return connection.WaitForClose();
      }
      if (Writes(request)) wrote = true;
      connection.Write(ListOf(domains, request));
    }
  });
  const auto config = [&] {
    return kube::ClientConfig{.endpoint = {.url = api_server.url()},
                              .credentials = std::make_unique<Token>("old")};
  };
  settings::Settings settings;
  settings.elects = false;
  settings.http_endpoint.clear();
  settings.debug_endpoint.clear();
  const base::SystemClock clock;
  TestLogger logger;
  kube::Fitness fitness;
  int looks = 0;
  int looks_before = 0;  // Before it was synced.
  const auto load = [&]() -> base::Result<kube::ClientConfig> {
    kube::ClientConfig latest = config();
    if (!logger.Said("Reconciling")) {
      if (++looks_before < 200) return latest;  // A minute.
      ADD_FAILURE() << "it was never synced";
      stop.request_stop();
      return latest;
    }
    if (++looks > 2) stop.request_stop();  // Twice the same is enough.
    change(latest);
    return latest;
  };
  const ExitReason end = Run({.settings = settings,
                              .clock = clock,
                              .logger = logger,
                              .fitness = fitness,
                              .load_config = load,
                              .reload_period = milliseconds(300)},
                             config(), stop.get_token());
  if (writes != nullptr) *writes = wrote;
  return end;
}

TEST(Process, P23_RunDoesNotBeginWhereADomainIsServedInTheOtherMode) {
  std::stop_source stop;
  bool writes = false;
  EXPECT_EQ(RunWhoseFilesAre([](auto&) {}, stop, kOfTheHosts, &writes), ExitReason::kOtherMode);
  EXPECT_FALSE(writes);
}

TEST(Process, M3_RunThatIsSyncedStartsOverWithNewCredentials) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"token", [](auto& config) { config.credentials = std::make_unique<Token>("new"); }},
      {"endpoint", [](auto& config) { config.endpoint.url += "/elsewhere"; }},
      {"CA", [](auto& config) { config.endpoint.ca_pem = "new"; }},
      {"certificate", [](auto& config) { config.endpoint.client_certificate_pem = "new"; }},
      {"key", [](auto& config) { config.endpoint.client_key_pem = "new"; }}};
  for (const auto& [what, change] : rows) {
    std::stop_source stop;
    EXPECT_EQ(RunWhoseFilesAre(change, stop), ExitReason::kConfigChanged) << what;
  }
}

TEST(Process, M3_RunGoesOnWithTheCredentialsThatItHas) {
  std::stop_source stop;
  EXPECT_EQ(RunWhoseFilesAre([](auto&) {}, stop), ExitReason::kStopped);
}

}  // namespace
}  // namespace process

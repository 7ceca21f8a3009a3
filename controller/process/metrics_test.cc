#include "controller/process/metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/version.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fixtures/map_server.h"
#include "test/fixtures/metric_rows.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/page_rows.h"

namespace process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class MetricsTest : public ::testing::Test {
 protected:
  std::string TextFor(Readers readers) const {
    std::ostringstream out;
    for (const auto& collectable : metrics_.For(readers)) {
      prometheus::TextSerializer().Serialize(out, collectable->Collect());
    }
    return "\n" + out.str();
  }
  // Of the series; none: it is not there.
  std::optional<double> ValueOf(const std::string& series,
                                Readers readers = Readers::kAllowed) const {
    const std::string text = TextFor(readers);
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::stod(text.substr(at + series.size() + 2));
  }

  base::ManualClock clock_{fixtures::Now().wall};
  kube::SeededRandom random_{1};
  kube::RecordingLogger logger_;
  compute_domain::Cache cache_{
      {fixtures::kDriverNs, fixtures::kOldDriverNs}, [](const std::string&) {}, logger_};
  kube::BlockingQueue queue_{clock_};
  kube::EventLoop events_{"example.com/c", "c-0", clock_, random_, logger_};
  Metrics metrics_{
      {.cache = cache_, .queue = queue_, .events = events_, .clock = clock_}, "10.0.0.1:6443", 4};
};

const std::string kQueue = R"({name="compute-domain"})";
const std::string kController = R"({controller="compute-domain"})";

std::string Reconciles(const std::string& result) {
  return R"(controller_runtime_reconcile_total{controller="compute-domain",result=")" + result +
         "\"}";
}

TEST_F(MetricsTest, P2_WhatHasNotHappenedIsThereAsZero) {
  for (const char* result : {"success", "error", "requeue_after"}) {
    EXPECT_EQ(ValueOf(Reconciles(result)), 0) << result;
  }
  EXPECT_EQ(ValueOf("controller_runtime_reconcile_errors_total" + kController), 0);
  EXPECT_EQ(ValueOf("controller_runtime_max_concurrent_reconciles" + kController), 4);
  EXPECT_EQ(ValueOf(R"(cdom_events_total{result="sent"})"), 0);
  EXPECT_EQ(ValueOf(R"(cdom_events_total{result="dropped"})"), 0);
  EXPECT_EQ(ValueOf(R"(nvidia_dra_compute_domain_info{status="Ready"})"), 0);
  EXPECT_EQ(ValueOf(R"(nvidia_dra_compute_domain_info{status="NotReady"})"), 0);
  EXPECT_EQ(ValueOf(R"(leader_election_master_status{name="compute-domain-controller"})"), 0);
  EXPECT_EQ(ValueOf("cdom_build_info{revision=\"" + std::string(base::Revision()) +
                    "\",version=\"" + std::string(base::Version()) + "\"}"),
            1);
}

TEST_F(MetricsTest, FeatureGatesWithoutEffectAreThere) {
  const Metrics metrics(
      {.cache = cache_,
       .queue = queue_,
       .events = events_,
       .clock = clock_,
       .ignored_gates = api::FeatureGates::Read("Later=true,AllAlpha=true")->Ignored(false)},
      "10.0.0.1:6443", 4);
  std::ostringstream out;
  for (const auto& collectable : metrics.For(Readers::kAnyone)) {
    prometheus::TextSerializer().Serialize(out, collectable->Collect());
  }
  for (const char* labels : {R"(gate="Later",value="true",why="unknown")",
                             R"(gate="NodeLocalFabricIPC",value="true",why="unsupported")"}) {
    EXPECT_NE(out.str().find("cdom_feature_gates_ignored{" + std::string(labels) + "} 1"),
              std::string::npos)
        << labels;
  }
}

TEST_F(MetricsTest, QueueTellsWhatWaitsAndWhatIsHeld) {
  queue_.Add("a");
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(ValueOf("workqueue_depth" + kQueue), 2);
  EXPECT_EQ(ValueOf("workqueue_adds_total" + kQueue), 2);
  clock_.Advance(seconds(3));
  ASSERT_EQ(queue_.Get({}), "a");
  metrics_.Began(queue_.Waited("a"));
  clock_.Advance(seconds(2));
  ASSERT_EQ(queue_.Get({}), "b");
  clock_.Advance(seconds(1));
  EXPECT_EQ(ValueOf("workqueue_depth" + kQueue), 0);
  EXPECT_EQ(ValueOf("workqueue_queue_duration_seconds_sum" + kQueue), 3);
  EXPECT_EQ(ValueOf("workqueue_unfinished_work_seconds" + kQueue), 3 + 1);
  EXPECT_EQ(ValueOf("workqueue_longest_running_processor_seconds" + kQueue), 3);
  EXPECT_EQ(ValueOf("controller_runtime_active_workers" + kController), 2);
  queue_.Done("a", {.failed = true});
  EXPECT_EQ(ValueOf("workqueue_retries_total" + kQueue), 1);
}

TEST_F(MetricsTest, ReconcilesAreCountedByWhatCameOfThem) {
  metrics_.Reconciled({}, milliseconds(100));
  metrics_.Reconciled({.requeue_after = milliseconds(500)}, milliseconds(100));
  metrics_.Reconciled({.error = base::Error{}}, milliseconds(300));
  EXPECT_EQ(ValueOf(Reconciles("success")), 1);
  EXPECT_EQ(ValueOf(Reconciles("requeue_after")), 1);
  EXPECT_EQ(ValueOf(Reconciles("error")), 1);
  EXPECT_EQ(ValueOf("controller_runtime_reconcile_errors_total" + kController), 1);
  EXPECT_EQ(ValueOf("controller_runtime_reconcile_time_seconds_count" + kController), 3);
  EXPECT_EQ(ValueOf("workqueue_work_duration_seconds_sum" + kQueue), 0.5);
}

TEST_F(MetricsTest, RequestsAreCountedByMethodAndAnswer) {
  metrics_.Exchanged({.method = http::Method::kPatch, .status = 409, .took = milliseconds(20)});
  metrics_.Exchanged({.method = http::Method::kGet});
  EXPECT_EQ(
      ValueOf(R"(rest_client_requests_total{code="409",host="10.0.0.1:6443",method="PATCH"})"), 1);
  EXPECT_EQ(
      ValueOf(R"(rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="GET"})"),
      1);
  EXPECT_EQ(
      ValueOf(R"(rest_client_request_duration_seconds_sum{host="10.0.0.1:6443",verb="PATCH"})"),
      0.02);
}

class NoSink final : public kube::ReflectorSink {
  void BeginReplace() override {}
  void ReplaceAdd(json::View /*object*/) override {}
  void EndReplace(const std::string& /*version*/) override {}
  void Apply(json::View /*object*/, bool /*deleted*/) override {}
  void Advance(const std::string& /*version*/) override {}
};

TEST_F(MetricsTest, ListsAndWatchesAreCountedForEachCollection) {
  NoSink sink;
  std::deque<kube::Reflector> reflectors;
  kube::Reflector& reflector = reflectors.emplace_back(
      kube::ReflectorOptions{.resource = kube::kDaemonSets, .ns = "ns"}, sink, random_, logger_);
  const std::string labels = R"({namespace="ns",resource="daemonsets.apps"})";
  metrics_.Watched(reflectors);
  EXPECT_EQ(ValueOf("cdom_reflector_lists_total" + labels), 0);
  ASSERT_EQ(reflector.Poll(clock_.Now()).kind, kube::Reflector::Next::Kind::kSend);
  reflector.OnReply(
      clock_.Now(),
      http::Response{
          .status = 200,
          .body = R"({"kind":"DaemonSetList","metadata":{"resourceVersion":"7"},"items":[]})"});
  ASSERT_EQ(reflector.Poll(clock_.Now()).kind, kube::Reflector::Next::Kind::kStream);
  metrics_.Watched(reflectors);
  metrics_.Watched(reflectors);
  EXPECT_EQ(ValueOf("cdom_reflector_lists_total" + labels), 1);
  EXPECT_EQ(ValueOf("cdom_reflector_watches_total" + labels), 1);
  EXPECT_EQ(ValueOf("cdom_reflector_versions_gone_back_total" + labels), 0);
  EXPECT_EQ(ValueOf("cdom_reflector_failing_seconds" + labels), 0);
}

TEST_F(MetricsTest, REV4_K8_CollectionThatCannotBeRead_CountsTheSeconds) {
  NoSink sink;
  std::deque<kube::Reflector> reflectors;
  kube::Reflector& reflector = reflectors.emplace_back(
      kube::ReflectorOptions{.resource = kube::kDaemonSets}, sink, random_, logger_);
  ASSERT_EQ(reflector.Poll(clock_.Now()).kind, kube::Reflector::Next::Kind::kSend);
  reflector.OnReply(clock_.Now(), http::Response{.status = 500});
  clock_.Advance(seconds(5));
  metrics_.Watched(reflectors);
  EXPECT_EQ(ValueOf(R"(cdom_reflector_failing_seconds{namespace="",resource="daemonsets.apps"})"),
            5);
}

TEST_F(MetricsTest, REV4_K8_ReplicaThatCannotServe_SaysSo) {
  EXPECT_EQ(ValueOf("cdom_can_serve"), 0);
  metrics_.SetCanServe(true);
  EXPECT_EQ(ValueOf("cdom_can_serve"), 1);
}

TEST_F(MetricsTest, G27_ReplicaThatBeginsToLeadSpeaksOfDomainsAtOnceAndIsSilentOnceItDoesNot) {
  fixtures::MapServer server;
  server.PutAll(fixtures::StoreAll(fixtures::Converged()));
  server.ShowAll(cache_);
  const std::string held = R"(cdom_domain_nodes_held{namespace="team-a",name="train"})";
  metrics_.Refresh(false);
  EXPECT_EQ(ValueOf(held), std::nullopt);
  metrics_.Refresh(true);
  EXPECT_EQ(ValueOf(held), 2);
  metrics_.Refresh(false);
  EXPECT_EQ(ValueOf(held), std::nullopt);
}

TEST_F(MetricsTest, REV3_X8_WithoutPermissionNobodyIsNamed) {
  fixtures::MapServer server;
  server.PutAll(fixtures::StoreAll(fixtures::Converged()));
  server.ShowAll(cache_);
  metrics_.Refresh(true);
  EXPECT_EQ(ValueOf("cdom_nodes_held", Readers::kAnyone), 2);
  EXPECT_EQ(ValueOf("cdom_nodes_held", Readers::kAllowed), 2);
  const std::string text = TextFor(Readers::kAnyone);
  for (const char* name : {"team-a", "train", "node-0", "node-1", "clique=", "cdom_domain_ready"}) {
    EXPECT_EQ(text.find(name), std::string::npos) << name << " in " << text;
    EXPECT_NE(TextFor(Readers::kAllowed).find(name), std::string::npos) << name;
  }
}

TEST_F(MetricsTest, G23_ClaimThatFoundItsNodeIsNoneThatWaits) {
  compute_domain::Observed observed = fixtures::Converged();
  observed.children.claims = {fixtures::MakeWaitingClaim("train-2")};
  fixtures::MapServer server;
  server.PutAll(fixtures::StoreAll(observed));
  cache_.OnAllocated([this](const api::ResourceClaim& before) { metrics_.Waited(before); });
  server.ShowAll(cache_);
  metrics_.Refresh(true);
  const std::string waiting = R"(cdom_domain_pods_waiting{namespace="team-a",name="train"})";
  EXPECT_EQ(ValueOf(waiting), 1);
  api::ResourceClaim claim = observed.children.claims[0];
  claim.node = "node-1";
  server.Put(fixtures::Store(claim));
  server.ShowAll(cache_);
  EXPECT_EQ(ValueOf(waiting), 0);
  EXPECT_EQ(ValueOf("cdom_claim_wait_seconds_count"), 1);
}

TEST_F(MetricsTest, DomainsInTheCacheHaveTheirSeriesWhileThisReplicaLeads) {
  fixtures::MapServer server;
  server.PutAll(fixtures::StoreAll(fixtures::Converged()));
  server.ShowAll(cache_);
  const std::string held = R"(cdom_domain_nodes_held{namespace="team-a",name="train"})";
  metrics_.Refresh(true);
  EXPECT_EQ(ValueOf(held), 2);
  EXPECT_EQ(ValueOf(R"(nvidia_dra_compute_domain_info{status="Ready"})"), 1);
  EXPECT_EQ(ValueOf(R"(leader_election_master_status{name="compute-domain-controller"})"), 1);
  clock_.Advance(seconds(5));
  metrics_.Refresh(false);
  EXPECT_EQ(ValueOf(held), std::nullopt);
  EXPECT_EQ(ValueOf(R"(nvidia_dra_compute_domain_info{status="Ready"})"), 1);
  EXPECT_EQ(ValueOf(R"(leader_election_master_status{name="compute-domain-controller"})"), 0);
}

// The section of docs/metrics.md that describes the family.
std::string SectionOf(const std::string& family, bool has_names) {
  if (has_names) return "## Domains";
  for (const char* prefix : {"rest_client_", "cdom_reflector_"}) {
    if (family.starts_with(prefix)) return "## Requests to the API server";
  }
  const bool is_of_controller = family == "cdom_build_info" || family == "cdom_can_serve" ||
                                family == "cdom_events_total" ||
                                family == "cdom_feature_gates_ignored";
  for (const char* prefix : {"cdom_", "nvidia_dra_"}) {
    if (family.starts_with(prefix) && !is_of_controller) return "## Totals";
  }
  return "## The controller";
}

TEST_F(MetricsTest, PageHasEachMetricWithTypeLabelsAndHelp) {
  compute_domain::Observed observed = fixtures::Deleting();
  observed.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
  observed.children.daemon_pods[0].controller_writes = true;
  observed.children.daemon_pods[0].imex = api::ImexReport{.state = "READY"};
  fixtures::MapServer server;
  server.PutAll(fixtures::StoreAll(observed));
  server.ShowAll(cache_);
  auto rooms = std::make_shared<const compute_domain::CliqueCapacities>(
      compute_domain::CliqueCapacities{{"c1.0", {.free = 1}}});
  Metrics metrics({.cache = cache_,
                   .queue = queue_,
                   .events = events_,
                   .clock = clock_,
                   .capacity = [&] { return rooms; },
                   .memory_shared = [](const auto&) { return "True"; },
                   .ignored_gates = {{.name = "Later"}}},
                  "10.0.0.1:6443", 4);
  metrics.Exchanged({.method = http::Method::kGet});
  NoSink sink;
  std::deque<kube::Reflector> reflectors;
  reflectors.emplace_back(kube::ReflectorOptions{.resource = kube::kDaemonSets}, sink, random_,
                          logger_);
  metrics.Watched(reflectors);
  metrics.Refresh(true);
  std::set<std::string> without_names;
  for (const auto& collectable : metrics.For(Readers::kAnyone)) {
    for (const auto& family : collectable->Collect()) without_names.insert(family.name);
  }
  std::map<std::string, std::vector<std::string>> rows;  // By section.
  for (const auto& collectable : metrics.For(Readers::kAllowed)) {
    for (const auto& family : collectable->Collect()) {
      rows[SectionOf(family.name, !without_names.contains(family.name))].push_back(
          fixtures::MetricRow(family));
    }
  }
  EXPECT_EQ(rows.size(), 4U);
  for (const auto& [section, wanted] : rows) {
    EXPECT_EQ(fixtures::RowsOf(CDOM_DOCS "/metrics.md", wanted, section), wanted) << section;
  }
}

}  // namespace
}  // namespace process

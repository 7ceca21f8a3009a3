#include "node/plugin/loop/garbage_collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/plugin/host/file_disk.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;
using http::testing::RawServer;
using http::testing::Reply;

constexpr const char* kStray = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kMayNotList =
    R"({"kind": "Status", "reason": "Forbidden", "message": "User \"p\" cannot list resource )"
    R"(\"resourceclaims\" in API group \"resource.k8s.io\" at the cluster scope"})";
constexpr const char* kFresh = "73de0384-716f-480e-8caa-00bce7016114";

// A plugin on node-a of a cluster that has no domains.
class GarbageCollectorTest : public testing::Test {
 protected:
  GarbageCollectorTest() {
    std::string folder = (fs::temp_directory_path() / "plugin_caretaker.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    settings_.node = "node-a";
    settings_.plugins_folder = folder_;
    settings_.cdi_folder = folder_ + "/cdi";
    fs::create_directories(FolderOf(kStray));
    fs::create_directories(settings_.cdi_folder);
    disk_.emplace(DiskPaths{.folder = settings_.Folder(), .cdi_folder = settings_.cdi_folder});
    state_.emplace(settings_, time_, log_, metrics_, "boot", *disk_, *disk_, Rules(),
                   Instances{.is_superseded = [this] { return is_superseded_; }}, host_);
    kube::ClientConfig config = {.endpoint = {.url = server_.url()},
                                 .credentials = std::make_unique<http::testing::FakeCredentials>()};
    api_ = PluginApi::Connect(std::move(config), settings_.node, clock_, log_, tasks_,
                              [this] { tasks_.Wake(); });
    state_->api = api_.get();
    garbage_collector_.emplace(*state_, [this](const auto& claim) { taken_.push_back(claim); });
  }
  ~GarbageCollectorTest() override {
    api_.reset();  // Its threads use the others.
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string FolderOf(const std::string& domain) const {
    return settings_.Folder() + "/domains/" + domain;
  }
  bool Has(const std::string& domain) const { return fs::exists(FolderOf(domain)); }

  void Serve(RawServer::Connection& connection) {
    for (auto request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      if (request.find("watch=") != std::string::npos) return connection.WaitForClose();
      if (request.starts_with("GET /api/v1/nodes")) {
        const std::string_view node =
            R"({"metadata": {"name": "node-a", "uid": "n", "resourceVersion": "1"}})";
        connection.Write(ListOf("Node", node));
      } else if (request.starts_with("PATCH /api/v1/nodes/node-a")) {
        ++labels_;
        connection.Write(
            Reply(200, R"({"metadata": {"name": "node-a", "uid": "n", "resourceVersion": "9"}})"));
      } else if (request.find("/resourceclaims?") != std::string::npos) {
        connection.Write(may_list_claims_ ? ListOf("ResourceClaim", "") : Reply(403, kMayNotList));
      } else if (request.find("/resourceclaims/c") != std::string::npos) {
        connection.Write(Reply(404, R"({"kind": "Status", "reason": "NotFound",)"
                                    R"("details": {"kind": "resourceclaims", "name": "c"}})"));
      } else if (request.find("/resourceslices") != std::string::npos) {
        connection.Write(ListOf("ResourceSlice", ""));
      } else {
        // The first is the cache's. What the second says is old when it arrives.
        const bool is_of_cache = lists_++ == 0;
        if (!is_of_cache && !has_stray_) fs::create_directories(FolderOf(kFresh));
        connection.Write(ListOf("ComputeDomain", is_of_cache || !has_stray_ ? "" : Stray()));
      }
    }
  }
  void Note(const CheckpointClaim& entry) {
    ASSERT_TRUE(state_->checkpoint_file.Lock());
    ASSERT_TRUE(state_->Save({.claims = {{"gone", entry}}, .boot_id = "boot"}));
    state_->checkpoint_file.Unlock();
  }
  void SetLabel() {
    state_->node = NodeView(
        "node-a", api::Node{.meta = {.uid = "n", .resource_version = "50"}, .domain = kStray});
  }
  void KeepLabelOfStray() {
    SetLabel();
    state_->node.KeepLabelUntil(time_.Now() + std::chrono::seconds(5));
  }
  // Whether it becomes so.
  bool RunUntil(const std::function<bool(TimePoint next)>& is_so) {
    return base::WaitUntil([&] {
      for (const auto& task : tasks_.Wait(std::chrono::milliseconds(10))) task();
      state_->node.Update(*api_);
      return is_so(garbage_collector_->Turn());
    });
  }
  static std::string Stray() {
    return R"({"metadata": {"uid": ")" + std::string(kStray) + R"("}})";
  }
  static std::string ListOf(std::string_view kind, std::string_view items) {
    return Reply(200, R"({"kind": ")" + std::string(kind) +
                          R"(List", "metadata": {"resourceVersion": "1"}, "items": [)" +
                          std::string(items) + "]}");
  }

  std::string folder_ = {};
  Settings settings_ = {};
  base::ManualClock clock_;  // Of the connection.
  base::ManualClock time_;   // Of what is decided.
  kube::NoLog log_;
  base::TaskQueue tasks_;
  Metrics metrics_{MetricsOf("node-a")};
  std::atomic<int> lists_ = 0;
  std::atomic<int> labels_ = 0;
  std::atomic<bool> may_list_claims_ = true;
  std::atomic<bool> has_stray_ = false;  // The server has its domain, and the cache has not.
  RawServer server_{[this](RawServer::Connection& connection) { Serve(connection); }};
  bool is_superseded_ = false;
  HostView host_ = {.self = {.node = "node-a"}};
  std::optional<FileDisk> disk_;
  std::optional<PluginState> state_;
  std::unique_ptr<PluginApi> api_;
  std::vector<kubelet::ClaimName> taken_;
  std::optional<GarbageCollector> garbage_collector_;
};

TEST_F(GarbageCollectorTest, B31_AFolderThatCameAfterTheDomainsWereAskedForStays) {
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return !Has(kStray); }))
      << "its domain is not in the list";
  EXPECT_TRUE(Has(kFresh));
}

TEST_F(GarbageCollectorTest, REV3_N1_PreparedClaimThatIsGoneIsTakenBackAfterAMinute) {
  Note({.state = ClaimState::kCompleted, .name = "c", .ns = "train"});
  const TimePoint after = time_.Now() + std::chrono::minutes(1);
  EXPECT_TRUE(RunUntil([&](TimePoint next) { return next == after; }))
      << "it is looked up once more";
  EXPECT_TRUE(taken_.empty()) << "its container may still be ending";
  time_.Advance(std::chrono::minutes(1));
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return !taken_.empty(); }));
  EXPECT_EQ(taken_, (std::vector<kubelet::ClaimName>{{.ns = "train", .uid = "gone", .name = "c"}}));
}

TEST_F(GarbageCollectorTest, REV4_Y3_AbortedEntry_IsForgottenWhenItIsOver) {
  fs::remove_all(FolderOf(kStray));
  ASSERT_TRUE(
      RunUntil([&](TimePoint next) { return next == time_.Now() + std::chrono::minutes(10); }));
  CheckpointClaim aborted = {.name = "c", .ns = "train"};
  Abort(aborted, {}, time_.Wall());
  Note(aborted);
  garbage_collector_->CheckForGarbage();
  const TimePoint due = time_.Now() + std::chrono::seconds(91);
  EXPECT_EQ(garbage_collector_->Turn(), due);
  time_.Advance(std::chrono::seconds(91));
  EXPECT_TRUE(RunUntil(
      [&](TimePoint /*next*/) { return state_->checkpoint_file.checkpoint().claims.empty(); }));
}

TEST_F(GarbageCollectorTest, REV3_N10_ListOfDomainsThatBringsNothingIsRepeatedEverMoreRarely) {
  has_stray_ = true;
  for (const int pause : {10, 20}) {
    const int before = std::max(lists_.load(), 1);
    EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) {
      garbage_collector_->CheckForGarbage();  // As after any change.
      return lists_ > before &&
             garbage_collector_->Turn() == time_.Now() + std::chrono::seconds(pause);
    })) << pause;
    EXPECT_EQ(lists_, before + 1);
    time_.Advance(std::chrono::seconds(pause));
  }
}

TEST_F(GarbageCollectorTest, REV3_N10_FolderThatAClaimUsesIsNotAskedFor) {
  Note({.state = ClaimState::kCompleted, .groups = {{.domain = kStray}}});
  EXPECT_TRUE(
      RunUntil([&](TimePoint next) { return next == time_.Now() + std::chrono::minutes(10); }));
  EXPECT_EQ(lists_, 1) << "the cache's";
  EXPECT_TRUE(Has(kStray));
}

TEST_F(GarbageCollectorTest, REV3_X15_UnreadableCheckpoint_WaitsForThePermissionToListClaims) {
  may_list_claims_ = false;
  settings_.ns = "cdom-system";
  std::ofstream(settings_.Folder() + "/checkpoint.json") << "{";
  ASSERT_TRUE(state_->checkpoint_file.Lock());
  state_->checkpoint_file.Unlock();
  ASSERT_TRUE(state_->is_rebuilding());
  host_.host = Host{};
  const TimePoint retry = time_.Now() + std::chrono::seconds(5);
  EXPECT_TRUE(RunUntil([&](TimePoint next) { return next == retry; }));
  EXPECT_NE(state_->checkpoint_file.resumed().why.find(
                "clusterrolebinding cdom-kubelet-plugin-recovery "
                "--clusterrole=cdom-kubelet-plugin-recovery "
                "--serviceaccount=cdom-system:cdom-kubelet-plugin"),
            std::string::npos)
      << state_->checkpoint_file.resumed().why;
  may_list_claims_ = true;
  time_.Advance(std::chrono::seconds(5));
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return !state_->is_rebuilding(); }));
}

TEST_F(GarbageCollectorTest, CheckpointThatIsDamagedLater_IsRebuiltAtOnce) {
  fs::remove_all(FolderOf(kStray));
  host_.host = Host{};
  ASSERT_TRUE(
      RunUntil([&](TimePoint next) { return next == time_.Now() + std::chrono::minutes(10); }));
  std::ofstream(settings_.Folder() + "/checkpoint.json") << "{";
  ASSERT_TRUE(state_->checkpoint_file.Lock());
  state_->checkpoint_file.Unlock();
  ASSERT_TRUE(state_->is_rebuilding());
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return !state_->is_rebuilding(); }));
}

TEST_F(GarbageCollectorTest, REV3_N6_LabelIsKeptNoLongerThanItsDomainLives) {
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return !Has(kStray); }));
  KeepLabelOfStray();
  garbage_collector_->CheckForGarbage();
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return labels_ == 1; }));
}

// An unprepare that knew an older state of the node removes no label.
TEST_F(GarbageCollectorTest, LabelThatTheWatchShowsLater_IsRemovedSoon) {
  fs::remove_all(FolderOf(kStray));
  ASSERT_TRUE(
      RunUntil([&](TimePoint next) { return next == time_.Now() + std::chrono::minutes(10); }));
  SetLabel();
  garbage_collector_->CheckForGarbage();
  EXPECT_EQ(garbage_collector_->Turn(), time_.Now() + std::chrono::seconds(1));
  time_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return labels_ == 1; }));
  SetLabel();
  garbage_collector_->CheckForGarbage();
  EXPECT_EQ(garbage_collector_->Turn(), time_.Now() + std::chrono::seconds(10))
      << "another client sets it again and again";
}

TEST_F(GarbageCollectorTest, REV3_N14_SupersededInstanceLeavesTheLabelToTheYoungerOne) {
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return !Has(kStray); }));
  is_superseded_ = true;
  KeepLabelOfStray();
  garbage_collector_->CheckForGarbage();
  for (int turn = 0; turn < 3; ++turn) {  // The second would hear that the label is off.
    static_cast<void>(garbage_collector_->Turn());
    EXPECT_TRUE(state_->node.MayChange());
    for (const auto& task : tasks_.Wait(std::chrono::milliseconds(100))) task();
  }
  EXPECT_EQ(labels_, 0);
  is_superseded_ = false;
  time_.Advance(std::chrono::minutes(10));
  EXPECT_TRUE(RunUntil([&](TimePoint /*next*/) { return labels_ == 1; }));
}

}  // namespace
}  // namespace plugin

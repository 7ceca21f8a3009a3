#include "node/plugin/loop/claim_work.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stop_token>

#include "node/cdi/files.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/rules/cdi_names.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;
using Operation = Metrics::Operation;

constexpr const char* kUid = "73de0384-716f-480e-8caa-00bce7016114";
constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
const kubelet::ClaimName kClaim = {.ns = "ns", .uid = kUid, .name = "c"};

class NoHost final : public HostReader {
  std::string DriverMark() const override { return {}; }
  base::Result<std::string> InstallHook() override { return std::string(); }
  bool HasHook(const std::string& /*path*/) const override { return true; }
  base::Result<DriverRead> Read(const std::string& /*hook*/) override { return DriverRead(); }
  bool IsImexReady(const std::stop_token& /*stop*/) override { return false; }
};

// A plugin on a node from which the API server cannot be reached.
class ClaimQueueTest : public testing::Test {
 protected:
  ClaimQueueTest() {
    std::string folder = (fs::temp_directory_path() / "plugin_work.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    settings_.node = "node-a";
    settings_.plugins_folder = folder_;
    settings_.cdi_folder = folder_ + "/cdi";
    fs::create_directories(settings_.Folder());
    fs::create_directories(settings_.cdi_folder);
    Start();
  }
  ~ClaimQueueTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void Start() {
    queue_.reset();
    works_.reset();
    readiness_.reset();
    state_.reset();
    disk_.emplace(DiskPaths{.folder = settings_.Folder(),
                            .cdi_folder = settings_.cdi_folder,
                            .config_template = settings_.config_template});
    state_.emplace(settings_, clock_, log_, metrics_, "boot", *disk_, *disk_, Rules(),
                   Instances{.is_superseded = [this] { return is_superseded_; },
                             .has_elder = [this] { return has_elder_; }},
                   host_);
    readiness_.emplace(*state_, no_host_, tasks_, [] { return nullptr; });
    works_.emplace(*state_, *readiness_);
    queue_.emplace(clock_, log_, metrics_, state_->checkpoint_file, *works_,
                   [this] { tasks_.Wake(); });
  }
  TimePoint Turn() {
    queue_->RestoreLost();
    return queue_->Turn();
  }
  void SetNode(const std::string& domain) {
    state_->node = NodeView(
        "node-a", api::Node{.meta = {.uid = "n", .resource_version = "5"}, .domain = domain});
  }
  // Returns a connection to the server. Its tasks run in Turn() of a test that waits for them.
  std::unique_ptr<PluginApi> Connect(const std::string& url) {
    kube::ClientConfig config = {.endpoint = {.url = url},
                                 .credentials = std::make_unique<http::testing::FakeCredentials>()};
    auto api = PluginApi::Connect(std::move(config), "node-a", clock_, no_log_, tasks_,
                                  [this] { tasks_.Wake(); });
    state_->api = api.get();
    return api;
  }
  // What was noted by a plugin that ended since.
  void Note(DeviceType type, const std::vector<std::string>& cdi_ids) {
    CheckpointClaim entry = {.state = ClaimState::kCompleted, .name = "c", .ns = "ns"};
    const std::string name = std::string(NameOf(type)) + "-0";
    entry.groups = {{.devices = {{.type = type,
                                  .requests = {"r"},
                                  .pool = "node-a",
                                  .name = name,
                                  .cdi_ids = cdi_ids}},
                     .type = type,
                     .domain = kDomain}};
    ASSERT_TRUE(state_->checkpoint_file.Lock());
    ASSERT_TRUE(state_->Save({.claims = {{kUid, entry}}, .boot_id = "boot"}));
    state_->checkpoint_file.Unlock();
    Start();
  }
  void PutSpec() {
    ASSERT_TRUE(cdi::ReplaceFile(
        settings_.cdi_folder, cdi::ClaimFile(kCdiVendor, kUid),
        cdi::Render({.kind = std::string(kClaimKind), .devices = {{.name = "x"}}})));
  }
  bool HasSpec() const {
    return fs::exists(settings_.cdi_folder + "/" + cdi::ClaimFile(kCdiVendor, kUid));
  }
  // Returns the error without its beginning, which is that of NVIDIA's plugin.
  static std::string Cause(const std::string& error) {
    for (const char* verb : {"preparing", "unpreparing"}) {
      const std::string begin = std::string("error ") + verb + " devices for claim " + kClaim.ns +
                                "/" + kClaim.name + ":" + kUid + ": ";
      if (error.starts_with(begin)) return error.substr(begin.size());
    }
    return "another beginning: " + error;
  }
  void Ask(Operation operation, const std::vector<kubelet::ClaimName>& claims = {kClaim},
           const std::stop_token& cancelled = {}) {
    answers_.reset();
    queue_->Add(operation, claims, cancelled,
                [this](const kubelet::Answers& answers) { answers_ = answers; });
  }

  std::string folder_ = {};
  Settings settings_ = {};
  base::ManualClock clock_;
  kube::RecordingLogger log_;
  base::TaskQueue tasks_;
  Metrics metrics_{MetricsOf("node-a")};
  kube::NoLog no_log_;
  bool is_superseded_ = false;
  bool has_elder_ = false;
  HostView host_ = {.self = {.node = "node-a"}, .trouble = "the fabric still forms"};
  NoHost no_host_;
  std::optional<FileDisk> disk_;
  std::optional<PluginState> state_;
  std::optional<DomainReadiness> readiness_;
  std::optional<ClaimWorks> works_;
  std::optional<dra::ClaimQueue> queue_;
  std::optional<kubelet::Answers> answers_;
};

TEST_F(ClaimQueueTest, H4_WhatWasPreparedIsAnsweredWhileTheApiServerIsAway) {
  Note(DeviceType::kChannel, {"k=1"});
  PutSpec();
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
  EXPECT_EQ(answers_->at(kUid).devices,
            (std::vector<kubelet::Device>{
                {.requests = {"r"}, .pool = "node-a", .name = "channel-0", .cdi_ids = {"k=1"}}}));
}

TEST_F(ClaimQueueTest, WithoutItsFileWhatWasPreparedIsNotHandedOut) {
  Note(DeviceType::kChannel, {"k=1"});
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
}

TEST_F(ClaimQueueTest, REV4_P11_PreparedDaemon_IsAnsweredOnceAllItsFilesExist) {
  settings_.config_template = folder_ + "/template";
  std::ofstream(settings_.config_template) << "A=1\n";
  Note(DeviceType::kDaemon, {"k8s.compute-domain.nvidia.com/device=all", "k=1"});
  PutSpec();
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  host_.has_driver_spec = true;
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
  EXPECT_TRUE(disk_->HasFolder(kDomain));
}

TEST_F(ClaimQueueTest, REV4_P11_LostFolderOfAPreparedDaemon_ComesBackThoughNobodyAsks) {
  settings_.config_template = folder_ + "/template";
  std::ofstream(settings_.config_template) << "A=1\n";
  Note(DeviceType::kDaemon, {"k=1"});
  PutSpec();
  static_cast<void>(Turn());
  ASSERT_TRUE(disk_->HasFolder(kDomain));
  fs::remove_all(settings_.Folder() + "/domains");
  ASSERT_FALSE(disk_->HasFolder(kDomain));
  EXPECT_LE(Turn(), clock_.Now() + std::chrono::seconds(5));
  clock_.Advance(std::chrono::seconds(5));
  static_cast<void>(Turn());
  EXPECT_TRUE(disk_->HasFolder(kDomain));
  EXPECT_EQ(log_.Count("Restored the files of a claim"), 2U);
  clock_.Advance(std::chrono::seconds(5));
  static_cast<void>(Turn());
  EXPECT_EQ(log_.Count("Restored the files of a claim"), 2U) << "all are there";
}

TEST_F(ClaimQueueTest, REV4_P11_LostFileThatCannotBeMade_IsTriedAgainAfterAMinute) {
  Note(DeviceType::kChannel, {"k=1"});
  static_cast<void>(Turn());
  clock_.Advance(std::chrono::seconds(40));
  static_cast<void>(Turn());
  EXPECT_EQ(log_.Count("Restoring the files of a claim failed claim=ns/c"), 1U);
  EXPECT_EQ(Turn(), clock_.Now() + std::chrono::minutes(1));
}

TEST_F(ClaimQueueTest, REV4_P11_ClaimThatIsTakenBackIsNotRestored) {
  Note(DeviceType::kDaemon, {"k=1"});
  static_cast<void>(Turn());
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
  clock_.Advance(std::chrono::minutes(2));
  static_cast<void>(Turn());
  EXPECT_TRUE(state_->checkpoint_file.checkpoint().claims.empty());
  EXPECT_FALSE(HasSpec());
}

TEST_F(ClaimQueueTest, H9_WhatItWaitsForIsAnsweredAt40Seconds) {
  Ask(Operation::kPrepare);
  const TimePoint until = Turn();
  EXPECT_FALSE(answers_);
  EXPECT_EQ(until, clock_.Now() + std::chrono::seconds(40));
  clock_.Advance(std::chrono::milliseconds(39'999));
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  clock_.Advance(std::chrono::milliseconds(1));
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(Cause(answers_->at(kUid).error), "the claim cannot be read");
}

TEST_F(ClaimQueueTest, ADaemonsClaimIsTakenBackWhileTheApiServerIsAway) {
  Note(DeviceType::kDaemon, {"k=1"});
  PutSpec();
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
  EXPECT_FALSE(HasSpec());
  EXPECT_TRUE(state_->checkpoint_file.checkpoint().claims.empty());
  EXPECT_TRUE(queue_->HasUnprepared());
  EXPECT_FALSE(queue_->HasUnprepared());
}

TEST_F(ClaimQueueTest, UnprepareOfAStartedClaim_AndOfAnAbortedOne_IsLoggedInNvidiasWords) {
  ASSERT_TRUE(state_->checkpoint_file.Lock());
  ASSERT_TRUE(state_->Save({.claims = {{kUid, {.name = "c", .ns = "ns"}}}, .boot_id = "boot"}));
  state_->checkpoint_file.Unlock();
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  EXPECT_EQ(
      log_.Count("Marked claim PrepareAborted in checkpoint: " + kClaim.ns + "/" + kClaim.name),
      1U);
  EXPECT_EQ(log_.Count("Unprepare noop"), 0U);
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  EXPECT_EQ(
      log_.Count("Unprepare noop: claim in PrepareAborted state: " + kClaim.ns + "/" + kClaim.name),
      1U);
}

TEST_F(ClaimQueueTest, REV3_N1_UnprepareEndsAPrepareThatWaits) {
  std::optional<kubelet::Answers> first;
  queue_->Add(Operation::kPrepare, {kClaim}, {},
              [&first](const kubelet::Answers& answers) { first = answers; });
  static_cast<void>(Turn());
  EXPECT_FALSE(first);
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  ASSERT_TRUE(first);
  EXPECT_EQ(Cause(first->at(kUid).error), "the kubelet has cancelled the call");
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
}

TEST_F(ClaimQueueTest, REV3_N1_CancelledCallEndsItsClaims) {
  std::stop_source kubelet;
  Ask(Operation::kPrepare, {kClaim}, kubelet.get_token());
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  kubelet.request_stop();
  EXPECT_TRUE(tasks_.Wait(std::chrono::hours(1)).empty()) << "it wakes the deciding thread";
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(Cause(answers_->at(kUid).error), "the kubelet has cancelled the call");
  // Two pods may share a claim: another prepare of it goes on.
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  std::optional<kubelet::Answers> other;
  queue_->Add(Operation::kPrepare, {kClaim}, {},
              [&other](const kubelet::Answers& answers) { other = answers; });
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
}

TEST_F(ClaimQueueTest, REV4_Y10_UnknownClaim_LeavesAMarkForAnOlderInstance) {
  for (const bool has_elder : {false, true}) {
    has_elder_ = has_elder;
    Ask(Operation::kUnprepare);
    static_cast<void>(Turn());
    ASSERT_TRUE(answers_);
    EXPECT_EQ(answers_->at(kUid).error, "");
    EXPECT_EQ(state_->checkpoint_file.checkpoint().claims.contains(kUid), has_elder);
  }
  const CheckpointClaim& mark = state_->checkpoint_file.checkpoint().claims.at(kUid);
  EXPECT_EQ(mark.state, ClaimState::kAborted);
  EXPECT_EQ(mark.name, "c");
  EXPECT_EQ(mark.aborted_at, base::FormatSeconds(clock_.Wall() + std::chrono::seconds(1)));
}

TEST_F(ClaimQueueTest, REV3_N5_PassThatFreedSomethingIsFollowedByAnotherAtOnce) {
  Note(DeviceType::kDaemon, {"k=1"});
  PutSpec();
  Ask(Operation::kUnprepare);
  EXPECT_EQ(Turn(), clock_.Now());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(Turn(), TimePoint::max());
}

// Its label would stay, and nobody would take it away.
TEST_F(ClaimQueueTest, WhatTheDiskDoesNotTakeIsToldWithTheFileAndSucceedsOnceItDoes) {
  Note(DeviceType::kDaemon, {"k=1"});
  // A file that is written as a whole has this name first.
  const std::string half = settings_.Folder() + "/.checkpoint.json.cdom-half";
  fs::create_directories(half + "/in-the-way");
  Ask(Operation::kUnprepare);
  EXPECT_LE(Turn(), clock_.Now() + std::chrono::seconds(2));
  clock_.Advance(std::chrono::milliseconds(39'999));
  EXPECT_LE(Turn(), clock_.Now() + std::chrono::seconds(2));
  EXPECT_FALSE(answers_);
  clock_.Advance(std::chrono::milliseconds(1));
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(Cause(answers_->at(kUid).error), "open " + half + ": File exists");
  // Of a thing that goes on failing there is one line.
  EXPECT_EQ(log_.Count("Processing a claim failed, will retry"), 1U);
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  fs::remove_all(half);
  clock_.Advance(std::chrono::seconds(2));
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
}

TEST_F(ClaimQueueTest, AChannelsClaimIsNotForgottenWhileTheNodeCannotBeRead) {
  Note(DeviceType::kChannel, {"k=1"});
  PutSpec();
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  EXPECT_TRUE(state_->checkpoint_file.checkpoint().claims.contains(kUid));
  SetNode("");
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
}

// A rolling update: the younger instance may have prepared another claim of the domain.
TEST_F(ClaimQueueTest, REV3_N14_SupersededInstanceTakesNoLabelOff) {
  for (const bool is_superseded : {false, true}) {
    Note(DeviceType::kChannel, {});
    is_superseded_ = is_superseded;
    SetNode(kDomain);
    const auto api = Connect("http://127.0.0.1:1");
    Ask(Operation::kUnprepare);
    static_cast<void>(Turn());
    EXPECT_EQ(answers_.has_value(), is_superseded) << "else it waits for the API server";
  }
}

TEST_F(ClaimQueueTest, ApiServerThatIsTooBusy_IsAskedAgainWhenItSays) {
  http::testing::RawServer server([](http::testing::RawServer::Connection& connection) {
    for (auto request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      connection.Write(http::testing::Reply(429, "{}", "Retry-After: 7\r\n"));
    }
  });
  Note(DeviceType::kChannel, {});
  SetNode(kDomain);
  const auto api = Connect(server.url());
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  while (log_.Count("Processing a claim failed") == 0) {
    for (const auto& task : tasks_.Wait(base::kHangs)) task();
    static_cast<void>(Turn());
  }
  clock_.Advance(std::chrono::seconds(5));  // When it looks after its files.
  EXPECT_EQ(Turn(), clock_.Now() + std::chrono::seconds(2));
}

TEST_F(ClaimQueueTest, H8_NothingIsDecidedByACheckpointThatCannotBeRead) {
  std::ofstream(settings_.Folder() + "/checkpoint.json") << "torn";
  PutSpec();
  Start();
  Ask(Operation::kUnprepare);
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  EXPECT_TRUE(HasSpec());
  clock_.Advance(kAnswerAfter);
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_NE(answers_->at(kUid).error.find("checkpoint is rebuilt from claims"), std::string::npos);
}

TEST_F(ClaimQueueTest, AnotherInstanceThatIsAtWorkIsWaitedFor) {
  FileDisk same({.folder = settings_.Folder()});
  dra::CheckpointFile<CheckpointClaim> other(same, "boot");
  ASSERT_TRUE(other.Lock());
  Ask(Operation::kUnprepare);
  EXPECT_LT(Turn(), clock_.Now() + std::chrono::seconds(1));
  EXPECT_FALSE(answers_);
  other.Unlock();
  clock_.Advance(std::chrono::seconds(1));
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
}

TEST_F(ClaimQueueTest, ARequestIsAnsweredWhenItsLastClaimIs) {
  Note(DeviceType::kChannel, {"k=1"});
  PutSpec();
  kubelet::ClaimName second = kClaim;
  second.uid = "another";
  Ask(Operation::kPrepare, {kClaim, second});
  static_cast<void>(Turn());
  EXPECT_FALSE(answers_);
  clock_.Advance(kAnswerAfter);
  static_cast<void>(Turn());
  ASSERT_TRUE(answers_);
  EXPECT_EQ(answers_->at(kUid).error, "");
  EXPECT_NE(answers_->at("another").error, "");
  Ask(Operation::kPrepare, {});
  EXPECT_TRUE(answers_);
}

TEST_F(ClaimQueueTest, H1_AUidThatIsAPathIsRefusedAtOnce) {
  Ask(Operation::kPrepare, {{.ns = "ns", .uid = "../../x", .name = "c"}});
  ASSERT_TRUE(answers_);
  EXPECT_NE(answers_->at("../../x").error, "");
}

TEST_F(ClaimQueueTest, H15_AnAnsweredClaimIsARequestOrAnErrorAndEachCountsOnce) {
  const auto counted = [&](const std::string& name) {
    double sum = 0;
    for (const auto& family : metrics_.collectable()->Collect()) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) sum += metric.counter.value;
    }
    return sum;
  };
  Note(DeviceType::kChannel, {"k=1"});
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  clock_.Advance(std::chrono::seconds(39));
  static_cast<void>(Turn());
  EXPECT_EQ(counted("nvidia_dra_requests_total"), 0);
  clock_.Advance(std::chrono::seconds(1));
  static_cast<void>(Turn());
  EXPECT_EQ(counted("nvidia_dra_requests_total"), 0);
  EXPECT_EQ(counted("nvidia_dra_node_prepare_errors_total"), 1);
  PutSpec();
  Ask(Operation::kPrepare);
  static_cast<void>(Turn());
  EXPECT_EQ(counted("nvidia_dra_requests_total"), 1);
  EXPECT_EQ(counted("nvidia_dra_node_prepare_errors_total"), 1);
}

TEST_F(ClaimQueueTest, WhoEndsAnswersAll) {
  Ask(Operation::kPrepare);
  queue_->AnswerAll("the plugin is ending");
  ASSERT_TRUE(answers_);
  EXPECT_EQ(Cause(answers_->at(kUid).error), "the plugin is ending");
}

}  // namespace
}  // namespace plugin

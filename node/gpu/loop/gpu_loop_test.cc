#include "node/gpu/loop/gpu_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "node/cdi/files.h"
#include "node/dra/host/file_claim_disk.h"
#include "node/gpu/loop/testing/fake_host.h"
#include "pkg/base/file.h"
#include "pkg/base/mutex.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fixtures/in_folder.h"

namespace gpu {
namespace {

using http::testing::RawServer, http::testing::Reply;
using Operation = dra::Metrics::Operation;
using std::chrono::minutes, std::chrono::seconds;

std::string ListOf(const std::string& kind, const std::string& items) {
  return Reply(200, R"({"kind": ")" + kind +
                        R"(List", "metadata": {"resourceVersion": "1"}, "items": [)" + items +
                        "]}");
}

// An API server that has claims, and takes slices.
class Server {
 public:
  void Put(const std::string& uid, const std::string& claim) {
    const base::MutexLock lock(mutex_);
    claims_[uid] = claim;
  }
  void Delete(const std::string& uid) {
    const base::MutexLock lock(mutex_);
    claims_.erase(uid);
  }
  // The devices of the last slice, as JSON. Empty if there is none.
  std::string devices() const {
    const base::MutexLock lock(mutex_);
    return devices_;
  }
  // A slice of an earlier process, as JSON.
  void PutSlice(const std::string& slice) {
    const base::MutexLock lock(mutex_);
    slice_ = slice;
  }
  void MayList(bool may) {
    const base::MutexLock lock(mutex_);
    may_list_ = may;
  }
  // Called before claims are listed. May be set before the first request.
  std::function<void()> before_list = [] {};

  void Serve(RawServer::Connection& connection) {
    for (auto request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      if (request.find("watch=") != std::string::npos) return connection.WaitForClose();
      connection.Write(AnswerTo(request));
    }
  }

 private:
  std::string AnswerTo(const std::string& request) {
    if (request.starts_with("GET /api/v1/nodes")) {
      return ListOf("Node",
                    R"({"metadata": {"name": "node-a", "uid": "n", "resourceVersion": "1"}})");
    }
    const bool is_list = request.find("/resourceclaims?") != std::string::npos;
    if (is_list) before_list();
    const base::MutexLock lock(mutex_);
    if (is_list && !may_list_) {
      return Reply(403, R"({"kind": "Status", "reason": "Forbidden", "message": "User \"p\" )"
                        R"(cannot list resource \"resourceclaims\""})");
    }
    if (request.find("/resourceslices") != std::string::npos) {
      const bool is_named = request.find("/resourceslices/") != std::string::npos;
      if (request.starts_with("GET") && is_named) return Reply(200, slice_);
      if (request.starts_with("GET")) return ListOf("ResourceSlice", slice_);
      json::Value slice = *json::Parse(request.substr(request.find("\r\n\r\n") + 4));
      devices_ = json::Serialize(slice["spec"]["devices"]);
      slice["metadata"]["name"] = "made";
      slice["metadata"]["uid"] = "slice";
      slice["metadata"]["resourceVersion"] = "2";
      return Reply(201, json::Serialize(slice));
    }
    std::string all;
    for (const auto& [uid, claim] : claims_) {
      if (request.find("/resourceclaims/c-" + uid) != std::string::npos) return Reply(200, claim);
      all += (all.empty() ? "" : ",") + claim;
    }
    if (is_list) return ListOf("ResourceClaim", all);
    const std::size_t at =
        request.find("/resourceclaims/") + std::string("/resourceclaims/").size();
    return Reply(404, R"({"kind": "Status", "reason": "NotFound", "details": )"
                      R"({"kind": "resourceclaims", "name": ")" +
                          request.substr(at, request.find_first_of(" ?", at) - at) + "\"}}");
  }

  mutable base::Mutex mutex_;
  std::map<std::string, std::string> claims_;
  std::string devices_;
  std::string slice_;
  bool may_list_ = true;
};

kubelet::ClaimName NameOf(const std::string& uid) {
  return {.ns = "ns", .uid = uid, .name = "c-" + uid};
}

class GpuLoopTest : public fixtures::InFolder {
 protected:
  GpuLoopTest() { std::filesystem::create_directories(Path("cdi")); }
  ~GpuLoopTest() override { Stop(); }

  // As a new process on this node.
  void Start() {
    Stop();
    disk_.emplace(paths_);
    loop_.emplace(LoopParts{.node = "node-a",
                            .ns = "cdom-system",
                            .clock = time_,
                            .logger = log_,
                            .tasks = tasks_,
                            .metrics = metrics_,
                            .claim_disk = *disk_,
                            .host = reader_,
                            .executor = executor_,
                            .boot_id = "boot",
                            .instances = {.is_superseded = [this] { return is_superseded_; },
                                          .has_younger = [this] { return has_younger_; }}});
    const auto started = loop_->Start();
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_TRUE(*started);
  }
  void Connect() {
    kube::ClientConfig config = {.endpoint = {.url = connection_.url()},
                                 .credentials = std::make_unique<http::testing::FakeCredentials>()};
    api_ = GpuApi::Connect(std::move(config), "node-a", clock_, no_log_, tasks_,
                           [this] { tasks_.Wake(); });
    loop_->Connect(api_.get());
  }
  void StartConnected() {
    Start();
    Connect();
  }
  void Stop() {
    if (loop_) loop_->Connect(nullptr);
    api_.reset();
    if (loop_) loop_->AnswerAll("the plugin is ending");
    static_cast<void>(tasks_.Poll());
    loop_.reset();
  }
  TimePoint Turn() {
    executor_.RunAll();
    for (const auto& task : tasks_.Wait(std::chrono::milliseconds(5))) task();
    return loop_->Turn();
  }
  bool RunUntil(const std::function<bool()>& is_so) {
    const bool is_so_now = base::WaitUntil([&] {
      static_cast<void>(Turn());
      return is_so();
    });
    for (const auto& line : log_.lines()) EXPECT_TRUE(is_so_now) << line.text;
    return is_so_now;
  }
  void Ask(Operation operation, const std::string& uid) {
    answer_.reset();
    loop_->Add(operation, {NameOf(uid)}, {},
               [this, uid](const kubelet::Answers& answers) { answer_ = answers.at(uid); });
  }
  // Returns the error of the answer. "no answer" if there is none.
  std::string Call(Operation operation, const std::string& uid) {
    Ask(operation, uid);
    if (!RunUntil([&] { return answer_.has_value(); }))
      answer_ = kubelet::Answer{.error = "no answer"};
    return answer_->error;
  }
  bool HasSpec(const std::string& uid) const { return disk_->HasSpec(uid); }
  void PutSpec(const std::string& uid) {
    ASSERT_TRUE(
        disk_->WriteSpec(uid, {.kind = std::string(kClaimKind), .devices = {{.name = "x"}}}));
  }
  std::string CheckpointText() const {
    return base::ReadFile(Path("checkpoint.json"), 1U << 20U).value_or("");
  }
  void PutCheckpoint(Checkpoint checkpoint) {
    checkpoint.boot_id = "boot";
    Put("checkpoint.json", Encode(checkpoint));
  }
  CheckpointClaim Completed(const std::string& uid, const std::string& device) const {
    const ClaimToPrepare claim = ClaimOf(uid, {{device}});
    return {.state = ClaimState::kCompleted,
            .status = claim.status,
            .groups = {GroupOf(NodeA(), uid, claim.wanted.value())},
            .name = claim.name,
            .ns = claim.ns};
  }

  base::ManualClock clock_;  // Of the connection.
  base::ManualClock time_;   // Of what is decided.
  kube::RecordingLogger log_;
  kube::NoLog no_log_;
  base::TaskQueue tasks_;
  dra::Metrics metrics_{MetricsOf("node-a")};
  FakeReader reader_;
  FakeExecutor executor_;
  const dra::ClaimPaths paths_ = {
      .folder = folder_, .cdi_folder = Path("cdi"), .cdi_vendor = std::string(kCdiVendor)};
  std::optional<dra::FileClaimDisk> disk_{paths_};
  Server server_;
  RawServer connection_{[this](RawServer::Connection& connection) { server_.Serve(connection); }};
  bool is_superseded_ = false;
  bool has_younger_ = false;
  std::unique_ptr<GpuApi> api_;
  std::optional<GpuLoop> loop_;
  std::optional<kubelet::Answer> answer_;
};

TEST_F(GpuLoopTest, R10_Devices_ArePublishedInTheirOrder) {
  StartConnected();
  ASSERT_TRUE(RunUntil([&] { return !server_.devices().empty(); }));
  const std::string devices = server_.devices();
  const std::size_t first = devices.find(R"("name":"gpu-0")");
  const std::size_t second = devices.find(R"("name":"gpu-1")");
  const std::size_t third = devices.find(R"("name":"gpu-2-mig-1g10gb-19-3")");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
  EXPECT_EQ(loop_->Health().size(), 3U);
}

TEST_F(GpuLoopTest, DriverThatWasNeverRead_PublishesNothing) {
  reader_.node = base::Unavailable("load the driver");
  StartConnected();
  ASSERT_TRUE(RunUntil([&] { return api_->slices().has_value() && reader_.reads > 0; }));
  EXPECT_FALSE(base::WaitUntil([&] {
                 static_cast<void>(Turn());
                 time_.Advance(minutes(1));
                 return time_.Now() > TimePoint(std::chrono::hours(2)) ||
                        !server_.devices().empty();
               }) &&
               !server_.devices().empty());
}

TEST_F(GpuLoopTest, R6_DriverThatIsLost_PublishesNoDevices) {
  StartConnected();
  ASSERT_TRUE(RunUntil([&] { return !server_.devices().empty(); }));
  reader_.node = base::Unavailable("the driver is unloaded");
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(10));
    return server_.devices() == "[]";
  }));
}

// The scheduler would allocate what cannot be prepared.
TEST_F(GpuLoopTest, R6_DriverThatWasNeverRead_TakesBackTheSliceOfAnEarlierProcess) {
  server_.PutSlice(R"({"metadata": {"name": "old", "uid": "o", "resourceVersion": "1"},)"
                   R"( "spec": {"devices": [{"name": "gpu-0"}]}})");
  reader_.node = base::Unavailable("load the driver");
  StartConnected();
  const TimePoint began = time_.Now();
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(10));
    return server_.devices() == "[]";
  }));
  EXPECT_GE(time_.Now() - began, minutes(2)) << "it may be loaded in a moment";
}

TEST_F(GpuLoopTest, SliceThatIsTooLarge_IsAnErrorForAPerson) {
  reader_.node->inventory.devices.assign(dra::kDevicesMax + 1, GpuOf(0));
  StartConnected();
  EXPECT_TRUE(RunUntil([&] { return log_.Count("The node's devices cannot be published") > 0; }));
  EXPECT_EQ(log_.Count("The node's devices cannot be published"), 1U);
}

TEST_F(GpuLoopTest, Claim_IsPreparedAndUnprepared) {
  server_.Put("a", ClaimJson("a", {{"gpu-1"}, {kMigName}}));
  StartConnected();
  EXPECT_EQ(Call(Operation::kPrepare, "a"), "");
  ASSERT_EQ(answer_->devices.size(), 2U);
  EXPECT_EQ(answer_->devices[0],
            (kubelet::Device{.requests = {"r"},
                             .pool = "node-a",
                             .name = "gpu-1",
                             .cdi_ids = {"k8s.gpu.nvidia.com/claim=a-gpu-1"}}));
  EXPECT_TRUE(HasSpec("a"));
  EXPECT_NE(CheckpointText().find("PrepareCompleted"), std::string::npos);
  EXPECT_EQ(Call(Operation::kUnprepare, "a"), "");
  EXPECT_FALSE(HasSpec("a"));
  EXPECT_EQ(CheckpointText(), Encode(Checkpoint{.boot_id = "boot"}));
  EXPECT_EQ(Call(Operation::kUnprepare, "a"), "") << "again";
}

TEST_F(GpuLoopTest, R7_PreparedClaim_NeedsNeitherApiServerNorDriverAfterARestart) {
  server_.Put("a", ClaimJson("a", {{"gpu-1"}}));
  StartConnected();
  ASSERT_EQ(Call(Operation::kPrepare, "a"), "");
  reader_.node = base::Unavailable("load the driver");
  Start();
  EXPECT_EQ(Call(Operation::kPrepare, "a"), "");
  EXPECT_EQ(answer_->devices.size(), 1U);
  EXPECT_EQ(Call(Operation::kUnprepare, "a"), "");
  EXPECT_FALSE(HasSpec("a"));
}

TEST_F(GpuLoopTest, NewClaim_WaitsForApiServerAndDriver) {
  server_.Put("a", ClaimJson("a", {{"gpu-1"}}));
  reader_.node = base::Unavailable("load the driver");
  Start();
  Ask(Operation::kPrepare, "a");
  static_cast<void>(Turn());
  EXPECT_FALSE(answer_);
  EXPECT_EQ(log_.Count("Claim waits claim=ns/c-a for=the claim cannot be read"), 1U);
  Connect();
  ASSERT_TRUE(RunUntil([&] { return log_.Count("for=load the driver") == 1; }));
  time_.Advance(seconds(40));
  ASSERT_TRUE(RunUntil([&] { return answer_.has_value(); }));
  EXPECT_TRUE(answer_->error.ends_with("load the driver")) << answer_->error;
  EXPECT_FALSE(HasSpec("a"));
}

TEST_F(GpuLoopTest, ClaimThatWasDeleted_IsRefused) {
  StartConnected();
  EXPECT_NE(Call(Operation::kPrepare, "a"), "");
  EXPECT_FALSE(HasSpec("a"));
}

TEST_F(GpuLoopTest, R12_OrphanedSpecs_AreDeleted) {
  PutCheckpoint({.claims = {{"a", Completed("a", "gpu-0")}}});
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  PutSpec("a");
  PutSpec("orphan");
  StartConnected();
  EXPECT_TRUE(RunUntil([&] { return !HasSpec("orphan"); }));
  EXPECT_TRUE(HasSpec("a"));
}

TEST_F(GpuLoopTest, R12_SpecThatCannotBeDeleted_IsToldAndTriedAgain) {
  std::filesystem::create_directories(Path("cdi/" + cdi::ClaimFile(kCdiVendor, "orphan") + "/x"));
  StartConnected();
  EXPECT_TRUE(RunUntil([&] { return log_.Count("Garbage collection failed, will retry") > 0; }));
  EXPECT_EQ(log_.Count("Deleted a CDI file"), 0U) << "it was not";
  std::filesystem::remove_all(Path("cdi/" + cdi::ClaimFile(kCdiVendor, "orphan")));
  PutSpec("orphan");
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return log_.Count("Deleted a CDI file") > 0;
  }));
}

TEST_F(GpuLoopTest, DeletedClaim_IsTakenBackAfterAMinute) {
  CheckpointClaim mps = Completed("a", "gpu-0");
  mps.groups[0].config_state = R"({"mpsControlDaemonID":"a-1f3c9"})";
  PutCheckpoint({.claims = {{"a", mps}}});
  PutSpec("a");
  StartConnected();
  ASSERT_TRUE(RunUntil([&] { return api_->slices() && api_->open() == 0; }));
  EXPECT_TRUE(HasSpec("a"));
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return !HasSpec("a");
  }));
  EXPECT_TRUE(RunUntil([&] { return CheckpointText().find("gpu-0") == std::string::npos; }));
  EXPECT_EQ(log_.Count("NVIDIA's plugin started an MPS daemon for a claim that ends here"), 1U);
  EXPECT_EQ(log_.Count("deployment=mps-control-daemon-a-1f3c9"), 1U);
}

TEST_F(GpuLoopTest, LostSpec_ComesBackThoughNobodyAsks) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  CheckpointClaim nameless = Completed("b", "gpu-1");
  nameless.name.clear();
  PutCheckpoint({.claims = {{"a", Completed("a", "gpu-0")}, {"b", nameless}}});
  StartConnected();
  EXPECT_TRUE(RunUntil([&] { return HasSpec("a"); }));
  EXPECT_FALSE(HasSpec("b")) << "its claim cannot be read without a name";
}

TEST_F(GpuLoopTest, SupersededInstance_RestoresNothing) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  PutCheckpoint({.claims = {{"a", Completed("a", "gpu-0")}}});
  is_superseded_ = true;
  StartConnected();
  ASSERT_TRUE(RunUntil([&] { return reader_.reads > 0 && api_->slices(); }));
  static_cast<void>(Turn());
  EXPECT_FALSE(HasSpec("a"));
}

// A call that waits in it may be of a claim that the newer instance has unprepared since.
TEST_F(GpuLoopTest, InstanceWithAYoungerOne_PreparesNoOtherClaim) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  server_.Put("b", ClaimJson("b", {{"gpu-0"}}));
  StartConnected();
  ASSERT_EQ(Call(Operation::kPrepare, "a"), "");
  Ask(Operation::kPrepare, "b");
  ASSERT_TRUE(RunUntil([&] { return log_.Count("gpu-0 is held by claim ns/c-a") == 1; }));
  has_younger_ = true;
  ASSERT_TRUE(RunUntil([&] { return answer_.has_value(); }));
  EXPECT_TRUE(answer_->error.ends_with("a newer instance of the plugin serves now"))
      << answer_->error;
  EXPECT_FALSE(HasSpec("b"));
  EXPECT_EQ(Call(Operation::kPrepare, "a"), "") << "it is prepared";
}

// Else each restart of the plugin would cost a pod the minute after which a kubelet asks again.
TEST_F(GpuLoopTest, InstanceThatEnds_FinishesTheCallsThatWait) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  server_.Put("b", ClaimJson("b", {{"gpu-0"}}));
  StartConnected();
  ASSERT_EQ(Call(Operation::kPrepare, "a"), "");
  Ask(Operation::kPrepare, "b");
  ASSERT_TRUE(RunUntil([&] { return log_.Count("gpu-0 is held by claim ns/c-a") == 1; }));
  is_superseded_ = true;
  std::optional<kubelet::Answer> freed;
  loop_->Add(Operation::kUnprepare, {NameOf("a")}, {},
             [&](const kubelet::Answers& answers) { freed = answers.at("a"); });
  ASSERT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return answer_.has_value();
  }));
  EXPECT_EQ(answer_->error, "");
  EXPECT_EQ(freed.value().error, "");
}

TEST_F(GpuLoopTest, UnreadableCheckpoint_IsRebuiltFromClaims) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  server_.Put("b", ClaimJson("b", {{"gpu-1"}}));
  server_.Put("nic", ClaimJson("nic", {{.device = "gpu-0", .pool = "node-b"}}));
  PutSpec("a");
  PutSpec("orphan");
  Put("checkpoint.json", "torn");
  StartConnected();
  ASSERT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return log_.Count("is rebuilt from claims") > 0;
  }));
  EXPECT_EQ(Call(Operation::kPrepare, "a"), "");
  EXPECT_EQ(log_.Count("The checkpoint could not be read and is rebuilt from claims claims=1"), 1U);
  EXPECT_TRUE(RunUntil([&] { return !HasSpec("orphan"); }));
  EXPECT_EQ(Call(Operation::kUnprepare, "a"), "");
}

TEST_F(GpuLoopTest, CheckpointThatIsDamagedLater_IsRebuiltAtOnce) {
  server_.Put("a", ClaimJson("a", {{"gpu-0"}}));
  StartConnected();
  ASSERT_EQ(Call(Operation::kPrepare, "a"), "");
  PutSpec("orphan");
  ASSERT_TRUE(RunUntil([&] {
    time_.Advance(seconds(30));
    return !HasSpec("orphan");
  }));
  const TimePoint collected = time_.Now();
  Put("checkpoint.json", "torn");
  Ask(Operation::kUnprepare, "a");
  ASSERT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return answer_.has_value();
  }));
  EXPECT_EQ(answer_->error, "");
  EXPECT_LT(time_.Now() - collected, seconds(30));
}

// The shipped account may not list claims.
TEST_F(GpuLoopTest, UnreadableCheckpoint_SaysHowToPermitThatClaimsAreListed) {
  const std::string command =
      "kubectl create clusterrolebinding cdom-kubelet-plugin-recovery "
      "--clusterrole=cdom-kubelet-plugin-recovery "
      "--serviceaccount=cdom-system:cdom-kubelet-plugin";
  server_.MayList(false);
  Put("checkpoint.json", "torn");
  StartConnected();
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return log_.Count(command) > 0;
  }));
  Ask(Operation::kPrepare, "a");
  ASSERT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return answer_.has_value();
  }));
  EXPECT_NE(answer_->error.find(command), std::string::npos) << answer_->error;
  server_.MayList(true);
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return log_.Count("is rebuilt from claims") > 0;
  }));
}

TEST_F(GpuLoopTest, UnreadableCheckpoint_IsNotRebuiltBeforeTheDriverIsRead) {
  reader_.node = base::Unavailable("load the driver");
  PutSpec("a");
  Put("checkpoint.json", "torn");
  StartConnected();
  EXPECT_TRUE(RunUntil([&] { return log_.Count("Garbage collection failed, will retry") > 0; }));
  EXPECT_EQ(CheckpointText(), "torn");
  EXPECT_TRUE(HasSpec("a"));
}

// The list of claims is older than what the other instance has prepared since.
TEST_F(GpuLoopTest, CheckpointThatAnotherInstanceRebuilt_IsNotReplaced) {
  Put("checkpoint.json", "torn");
  Checkpoint rebuilt = {.claims = {{"a", Completed("a", "gpu-0")}}, .boot_id = "boot"};
  server_.before_list = [this, &rebuilt] { Put("checkpoint.json", Encode(rebuilt)); };
  StartConnected();
  Ask(Operation::kPrepare, "a");
  EXPECT_TRUE(RunUntil([&] {
    time_.Advance(seconds(1));
    return answer_.has_value();
  }));
  EXPECT_EQ(CheckpointText(), Encode(rebuilt));
  EXPECT_EQ(log_.Count("could not be read and is rebuilt"), 0U);
}

TEST_F(GpuLoopTest, EntryThatIsDamaged_IsCopiedAndUnprepared) {
  Checkpoint checkpoint = {.claims = {{"a", Completed("a", "gpu-0")}}};
  checkpoint.claims["a"].groups[0].devices[0].type = "later";
  PutCheckpoint(checkpoint);
  PutSpec("a");
  Start();
  EXPECT_EQ(log_.Count("Checkpoint entries are damaged"), 1U);
  EXPECT_TRUE(std::filesystem::exists(Path("checkpoint.damaged.json")));
  EXPECT_EQ(Call(Operation::kUnprepare, "a"), "");
  EXPECT_FALSE(HasSpec("a"));
  EXPECT_EQ(CheckpointText(), Encode(Checkpoint{.boot_id = "boot"}));
}

TEST_F(GpuLoopTest, PreparedDevices_AreCountedByType) {
  PutCheckpoint({.claims = {{"a", Completed("a", "gpu-0")},
                            {"b", Completed("b", kMigName)},
                            {"c", {.name = "c", .ns = "ns"}}}});
  Start();
  std::map<std::string, double> counted;
  for (const auto& family : metrics_.collectable()->Collect()) {
    if (family.name != "nvidia_dra_prepared_devices") continue;
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        if (label.name == "device_type") counted[label.value] = metric.gauge.value;
      }
    }
  }
  EXPECT_EQ(counted, (std::map<std::string, double>{{"gpu", 1}, {"mig", 1}, {"vfio", 0}}));
}

TEST_F(GpuLoopTest, Start_FailsIfTheFolderIsNoFolder) {
  std::filesystem::create_directories(Path("pu.lock"));
  loop_.emplace(LoopParts{.node = "node-a",
                          .clock = time_,
                          .logger = log_,
                          .tasks = tasks_,
                          .metrics = metrics_,
                          .claim_disk = *disk_,
                          .host = reader_,
                          .executor = executor_,
                          .boot_id = "boot"});
  EXPECT_FALSE(loop_->Start());
}

TEST_F(GpuLoopTest, End_AnswersAllCalls) {
  Start();
  Ask(Operation::kPrepare, "a");
  loop_->NoteChange();
  loop_->AnswerAll("the plugin is ending");
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(answer_->error.ends_with("the plugin is ending"));
  EXPECT_FALSE(loop_->CleanUp([] {}));
}

}  // namespace
}  // namespace gpu

#include "node/gpu/loop/host_watcher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "node/cdi/files.h"
#include "node/dra/host/file_claim_disk.h"
#include "node/gpu/loop/testing/fake_host.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fixtures/in_folder.h"

namespace gpu {
namespace {

using std::chrono::minutes, std::chrono::seconds;
using Is = kubelet::DeviceHealth::Is;

class GpuHostWatcherTest : public fixtures::InFolder {
 protected:
  GpuHostWatcherTest() { std::filesystem::create_directories(Path("cdi")); }

  // Lets the watcher read if it wants to. Returns after how long it reads again.
  std::chrono::nanoseconds Turn(bool is_needed = false) {
    watcher_.Turn(is_needed);
    executor_.RunAll();
    for (const auto& task : tasks_.Poll().value_or(std::vector<base::TaskQueue::Task>())) task();
    return watcher_.next() - clock_.Now();
  }
  void Fail(const std::string& why) { reader_.node = base::Unavailable(why); }
  // A claim that is prepared, with the file of the driver that `node` has.
  ClaimToPrepare Prepare(const GpuNode& node, const std::vector<Given>& devices,
                         const std::string& uid = "a") {
    ClaimToPrepare claim = ClaimOf(uid, devices);
    Checkpoint checkpoint = state_.checkpoint_file.checkpoint();
    checkpoint.claims[uid] = {.state = ClaimState::kCompleted,
                              .status = claim.status,
                              .groups = {GroupOf(node, uid, claim.wanted.value())}};
    EXPECT_TRUE(state_.checkpoint_file.Lock());
    EXPECT_TRUE(state_.Save(std::move(checkpoint)));
    state_.checkpoint_file.Unlock();
    EXPECT_TRUE(disk_.WriteSpec(uid, SpecOf(node, uid, claim.wanted.value())));
    return claim;
  }
  cdi::Spec SpecOnDisk(const std::string& uid = "a") const {
    return disk_.ReadSpec(uid).value().value_or(cdi::Spec());
  }

  base::ManualClock clock_;
  kube::RecordingLogger log_;
  base::TaskQueue tasks_;
  FakeExecutor executor_;
  FakeReader reader_;
  HostView view_;
  dra::Metrics metrics_{MetricsOf("node-a")};
  bool is_superseded_ = false;
  dra::ClaimPaths paths_ = {
      .folder = folder_, .cdi_folder = Path("cdi"), .cdi_vendor = std::string(kCdiVendor)};
  dra::FileClaimDisk disk_{paths_};
  GpuState state_{.node = "node-a",
                  .ns = "cdom-system",
                  .clock = clock_,
                  .logger = log_,
                  .metrics = metrics_,
                  .boot_id = "boot",
                  .claim_disk = disk_,
                  .instances = {.is_superseded = [this] { return is_superseded_; }},
                  .host = view_};
  HostWatcher watcher_{state_, view_, reader_, executor_, tasks_};
};

TEST_F(GpuHostWatcherTest, Host_IsReadEachMinute) {
  EXPECT_NE(view_.trouble, "");
  EXPECT_EQ(Turn(), minutes(1));
  EXPECT_TRUE(view_.is_read);
  EXPECT_EQ(view_.trouble, "");
  EXPECT_EQ(view_.node, NodeA());
  EXPECT_EQ(log_.Count("Read the GPUs driver=580.95.05 devices=gpu-0 gpu-1 gpu-2-mig"), 1U);
  clock_.Advance(seconds(59));
  Turn();
  EXPECT_EQ(reader_.reads, 1);
  clock_.Advance(seconds(1));
  Turn();
  EXPECT_EQ(reader_.reads, 2);
  EXPECT_EQ(log_.Count("Read the GPUs"), 1U) << "nothing is new";
}

TEST_F(GpuHostWatcherTest, OneReadAtATime) {
  watcher_.Turn(false);
  watcher_.Turn(true);
  EXPECT_EQ(watcher_.next(), TimePoint::max());
  Turn();
  EXPECT_EQ(reader_.reads, 1);
}

TEST_F(GpuHostWatcherTest, R6_AnotherDriver_IsNoticedAtOnceByAClaim) {
  Turn();
  reader_.mark = "another driver";
  watcher_.Turn(true);
  EXPECT_EQ(view_.trouble, "NVIDIA's driver has changed, reading it again");
  Turn(true);
  EXPECT_EQ(reader_.reads, 2);
  EXPECT_EQ(view_.trouble, "");
}

TEST_F(GpuHostWatcherTest, R6_AnotherDriver_IsNoticedWithin5SecondsWithoutAClaim) {
  Turn();
  clock_.Advance(seconds(5));
  Turn();
  EXPECT_EQ(reader_.reads, 1);
  reader_.mark = "another driver";
  clock_.Advance(seconds(4));
  Turn();
  EXPECT_EQ(reader_.reads, 1);
  clock_.Advance(seconds(1));
  Turn();
  EXPECT_EQ(reader_.reads, 2);
}

TEST_F(GpuHostWatcherTest, DriverThatCannotBeRead_IsReadAgainWithBackoff) {
  Fail("load the driver");
  EXPECT_EQ(Turn(), seconds(2));
  EXPECT_EQ(view_.trouble, "load the driver");
  EXPECT_FALSE(view_.is_read);
  clock_.Advance(seconds(2));
  EXPECT_EQ(Turn(), seconds(4));
  EXPECT_EQ(log_.Count("The host lacks something, will retry err=load the driver"), 1U);
  Fail("load another module");
  clock_.Advance(seconds(4));
  EXPECT_EQ(Turn(), seconds(2)) << "it is another error";
  reader_.node = NodeA();
  clock_.Advance(seconds(2));
  EXPECT_EQ(Turn(), minutes(1));
  EXPECT_EQ(view_.trouble, "");
}

TEST_F(GpuHostWatcherTest, R6_DriverThatIsGoneFor2Minutes_IsLost) {
  Turn();
  Fail("the driver is unloaded");
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_FALSE(view_.is_lost);
  EXPECT_EQ(view_.node, NodeA()) << "what was read stays known";
  clock_.Advance(seconds(119));
  Turn();
  EXPECT_FALSE(view_.is_lost);
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_TRUE(view_.is_lost);
  reader_.node = NodeA();
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_FALSE(view_.is_lost);
}

TEST_F(GpuHostWatcherTest, DriverThatWasNeverRead_IsLostAfter2Minutes) {
  Fail("load the driver");
  Turn();
  EXPECT_FALSE(view_.is_lost) << "an earlier process may have read it a moment ago";
  clock_.Advance(minutes(3));
  Turn();
  EXPECT_TRUE(view_.is_lost);
}

TEST_F(GpuHostWatcherTest, ReadThatDoesNotEnd_HasFailedAfter10Minutes) {
  Turn();
  clock_.Advance(minutes(1));
  watcher_.Turn(false);
  clock_.Advance(minutes(10) - seconds(1));
  watcher_.Turn(false);
  EXPECT_EQ(view_.trouble, "");
  clock_.Advance(seconds(1));
  watcher_.Turn(false);
  watcher_.Turn(true);
  EXPECT_TRUE(view_.is_lost);
  EXPECT_TRUE(view_.trouble.starts_with("NVIDIA's library has not answered for 10 minutes"));
  EXPECT_EQ(log_.Count("NVIDIA's library has not answered"), 1U);
  Turn();
  EXPECT_EQ(reader_.reads, 2) << "no second thread waits for it";
  EXPECT_FALSE(view_.is_lost);
  EXPECT_EQ(view_.trouble, "");
}

TEST_F(GpuHostWatcherTest, SpecsOfAnEarlierDriver_AreWrittenAgain) {
  GpuNode before = NodeA();
  before.numbers.uvm = 510;
  before.common.nodes = ControlNodes(before.numbers, false);
  const ClaimToPrepare claim = Prepare(before, {{"gpu-0"}, {kMigName}});
  EXPECT_EQ(Turn(), minutes(1));
  EXPECT_EQ(SpecOnDisk(), SpecOf(NodeA(), "a", claim.wanted.value()));
  EXPECT_EQ(log_.Count("Wrote the CDI file of a claim again"), 1U);
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_EQ(log_.Count("Wrote the CDI file of a claim again"), 1U) << "it is not outdated";
}

TEST_F(GpuHostWatcherTest, SpecOfAnEarlierDriver_ThatNvidiasDriverPrepared_IsWrittenAgain) {
  GpuNode before = NodeA();
  before.numbers.uvm = 510;
  before.common.nodes = ControlNodes(before.numbers, false);
  const ClaimToPrepare claim = Prepare(before, {{"gpu-0"}, {kMigName}});
  Checkpoint checkpoint = state_.checkpoint_file.checkpoint();
  auto& groups = checkpoint.claims["a"].groups;
  groups = {{.devices = {groups[0].devices[1]}},
            {.devices = {groups[0].devices[0]}, .config_state = R"({"timeSliceApplied":true})"}};
  ASSERT_TRUE(state_.checkpoint_file.Lock());
  ASSERT_TRUE(state_.Save(checkpoint));
  state_.checkpoint_file.Unlock();
  Turn();
  EXPECT_EQ(SpecOnDisk(), SpecOf(NodeA(), "a", claim.wanted.value()));
}

TEST_F(GpuHostWatcherTest, SpecsThatAreNotOurs_AreLeft) {
  GpuNode before = NodeA();
  before.driver_version = "570.1";
  before.common.mounts = {{.host_path = "/usr/lib64/libcuda.so.570.1", .container_path = "/x"}};
  const ClaimToPrepare gone = Prepare(before, {{"gpu-0"}});
  // The GPU is another one by now.
  reader_.node->inventory.devices[0].gpu.uuid = "GPU-another";
  // Nothing is known of what this one wants, and of a UID that is none no file is touched.
  Prepare(before, {{"gpu-1"}}, "b");
  Checkpoint checkpoint = state_.checkpoint_file.checkpoint();
  checkpoint.claims["b"].status = {};
  checkpoint.claims["../x"] = checkpoint.claims["a"];
  checkpoint.claims["c"] = checkpoint.claims["a"];  // Its file was lost.
  checkpoint.claims["d"] = {.status = checkpoint.claims["a"].status};
  ASSERT_TRUE(state_.checkpoint_file.Lock());
  ASSERT_TRUE(state_.Save(checkpoint));
  state_.checkpoint_file.Unlock();
  Turn();
  EXPECT_EQ(SpecOnDisk("a"), SpecOf(before, "a", gone.wanted.value()));
  EXPECT_EQ(log_.Count("Wrote the CDI file"), 0U);
  reader_.node->inventory.devices.erase(reader_.node->inventory.devices.begin());
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_EQ(log_.Count("Wrote the CDI file"), 0U);
}

TEST_F(GpuHostWatcherTest, SupersededInstance_WritesNoSpecs) {
  GpuNode before = NodeA();
  before.numbers.uvm = 510;
  before.common.nodes = ControlNodes(before.numbers, false);
  Prepare(before, {{"gpu-0"}});
  is_superseded_ = true;
  Turn();
  EXPECT_EQ(log_.Count("Wrote the CDI file"), 0U);
}

TEST_F(GpuHostWatcherTest, SpecsAreRenewed_OnceAnotherInstanceHasEndedItsWork) {
  GpuNode before = NodeA();
  before.numbers.uvm = 510;
  before.common.nodes = ControlNodes(before.numbers, false);
  Prepare(before, {{"gpu-0"}});
  dra::FileClaimDisk other(paths_);
  ASSERT_TRUE(other.Lock());
  EXPECT_EQ(Turn(), seconds(5));
  EXPECT_EQ(view_.trouble, "") << "which is no trouble";
  other.Unlock();
  clock_.Advance(seconds(5));
  EXPECT_EQ(Turn(), minutes(1));
  EXPECT_EQ(log_.Count("Wrote the CDI file"), 1U);
}

TEST_F(GpuHostWatcherTest, SpecThatCannotBeWritten_IsATrouble) {
  GpuNode before = NodeA();
  before.numbers.uvm = 510;
  before.common.nodes = ControlNodes(before.numbers, false);
  Prepare(before, {{"gpu-0"}});
  const std::string file = cdi::ClaimFile(kCdiVendor, "a");
  std::filesystem::create_directories(Path("cdi/." + file + ".cdom-half/x"));
  EXPECT_EQ(Turn(), seconds(2));
  EXPECT_NE(view_.trouble.find(file), std::string::npos) << view_.trouble;
  std::filesystem::remove_all(Path("cdi/." + file + ".cdom-half"));
  clock_.Advance(seconds(2));
  EXPECT_EQ(Turn(), minutes(1));
  EXPECT_EQ(view_.trouble, "");
}

TEST_F(GpuHostWatcherTest, Health_IsOfEachDeviceThatWasEverPublished) {
  EXPECT_TRUE(watcher_.Health().empty());
  Turn();
  ASSERT_EQ(watcher_.Health().size(), 3U);
  EXPECT_EQ(watcher_.Health()[0],
            (kubelet::DeviceHealth{.is = Is::kHealthy, .pool = "node-a", .name = "gpu-0"}));
  Fail("the driver is unloaded");
  clock_.Advance(minutes(1));
  Turn();
  EXPECT_EQ(watcher_.Health()[0].is, Is::kUnknown);
  EXPECT_EQ(watcher_.Health()[0].message, "the driver is unloaded");
}

TEST_F(GpuHostWatcherTest, R6_LostGpu_IsUnhealthyAndOthersAreNot) {
  Turn();
  reader_.node->inventory.devices.erase(reader_.node->inventory.devices.begin());
  reader_.node->inventory.devices[0].gpu.uuid = "GPU-another";
  reader_.node->inventory.unpublished = {
      {.device = "GPU 0", .why = "cannot be read: GPU is lost", .is_lost = true}};
  clock_.Advance(minutes(1));
  Turn();
  const auto health = watcher_.Health();
  ASSERT_EQ(health.size(), 3U);
  EXPECT_EQ(health[0].is, Is::kUnhealthy);
  EXPECT_EQ(health[0].message,
            "NVIDIA's driver no longer reports it; GPU 0 cannot be read: GPU is lost");
  EXPECT_EQ(health[1].is, Is::kHealthy) << "the other GPU of that name is published now";
  EXPECT_EQ(health[2].is, Is::kHealthy);
  EXPECT_EQ(log_.Count("A GPU is not published gpu=GPU 0 err=cannot be read: GPU is lost"), 1U);
}

}  // namespace
}  // namespace gpu

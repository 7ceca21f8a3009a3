#include "node/gpu/preflight/probe.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>

#include "node/gpu/rules/checkpoint.h"
#include "pkg/base/open_file.h"
#include "pkg/base/testing/manual_clock.h"
#include "test/fixtures/in_folder.h"

namespace gpu {
namespace {

namespace fs = std::filesystem;

// A node with all that is needed, as files. Each test takes one thing away.
class GpuProbeTest : public fixtures::InFolder {
 protected:
  GpuProbeTest() {
    Put("gpus",
        "driver version=580.95.05 cuda=13000\n"
        "gpu minor=0 uuid=GPU-0 pci=00000000:65:00.0\n");
    ::setenv("STAND_IN_NVML_FILE", Path("gpus").c_str(), 1);
    Put("devices", "Character devices:\n195 nvidia-frontend\n511 nvidia-uvm\n");
    Put("boot_id", "boot\n");
    fs::create_directories(Path("root/usr/lib64"));
    fs::create_directories(Path("registry"));
    fs::copy_file(CDOM_NVML_STAND_IN, Path("root/usr/lib64/libnvidia-ml.so.1"));
    Put("root/usr/lib64/libcuda.so.580.95.05", "");
    settings_.host_driver_root = "/on/the/host";
    settings_.driver_root = Path("root");
    settings_.devices = Path("devices");
    settings_.boot_id = Path("boot_id");
    settings_.plugins_folder = Path("plugins");
    settings_.registry_folder = Path("registry");
    settings_.cdi_folder = Path("cdi");
    settings_.pod_uid = "0c3b2d84";
  }
  ~GpuProbeTest() override { ::unsetenv("STAND_IN_NVML_FILE"); }
  ProbeContext Context() {
    return {.settings = settings_,
            .clock = clock_,
            .node_status = [this] { return status_; },
            .say = [this](const std::string& line) { said_ += line + "\n"; },
            .pause =
                [this](std::chrono::nanoseconds time) {
                  clock_.Advance(time);
                  ++pauses_;
                  on_pause_();
                }};
  }
  NodeProbe Probe() { return ProbeNode(Context()); }

  Settings settings_;
  base::ManualClock clock_;
  NodeStatus status_ = {.runtime = "containerd://2.1.4"};
  std::string said_ = {};
  int pauses_ = 0;
  std::function<void()> on_pause_ = [] {};
};

TEST_F(GpuProbeTest, NodeThatHasAll_IsNotWaitedFor) {
  const NodeProbe found = Probe();
  EXPECT_EQ(found.library_trouble, "");
  EXPECT_EQ(found.driver_version, "580.95.05");
  EXPECT_EQ(found.driver_root, "/on/the/host");
  EXPECT_EQ(found.devices, 1);
  EXPECT_TRUE(Preflight(found).empty());
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 0);
  EXPECT_EQ(said_,
            "This node has everything that is needed: driver 580.95.05, 1 devices, "
            "containerd://2.1.4\n");
}

TEST_F(GpuProbeTest, WhatIsMissing_IsFound) {
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  fs::remove(Path("devices"));
  settings_.cdi_folder = Path("boot_id/cdi");
  const NodeProbe found = Probe();
  EXPECT_NE(found.library_trouble.find("libnvidia-ml.so.1 does not exist"), std::string::npos);
  EXPECT_FALSE(found.has_gpu_numbers || found.has_uvm_numbers);
  EXPECT_NE(found.cdi_trouble.find(settings_.cdi_folder), std::string::npos);
}

TEST_F(GpuProbeTest, LibrariesOfAnotherVersion_AreFound) {
  Put("root/usr/lib64/libcuda.so.570.1", "");
  Put("root/usr/lib64/libcuda.so.1", "");
  NodeProbe found = Probe();
  EXPECT_EQ(found.other_versions, std::vector<std::string>{"570.1"});
  EXPECT_EQ(found.files_trouble, "");
  fs::remove(Path("root/usr/lib64/libcuda.so.580.95.05"));
  found = Probe();
  EXPECT_NE(found.files_trouble, "");
}

TEST_F(GpuProbeTest, R6_LostGpus_AreFound) {
  Put("gpus",
      "driver version=580.95.05 cuda=13000\n"
      "gpu minor=0 uuid=GPU-0 pci=00000000:65:00.0 fail=15\n");
  const NodeProbe found = Probe();
  EXPECT_EQ(found.devices, 0);
  ASSERT_EQ(found.unpublished.size(), 1U);
  EXPECT_TRUE(found.unpublished[0].starts_with("GPU 0 cannot be read: "));
}

TEST_F(GpuProbeTest, AnotherDriver_IsFoundByItsSocket) {
  const std::string path = Path("registry/gpu.nvidia.com-reg.sock");
  EXPECT_EQ(Probe().other_driver, "");
  const base::OpenFile listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(at.sun_path));
  path.copy(&at.sun_path[0], sizeof(at.sun_path) - 1);
  ASSERT_EQ(::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  EXPECT_EQ(Probe().other_driver, "") << "nobody listens: it has ended";
  ASSERT_EQ(::listen(listener.fd(), 1), 0);
  EXPECT_EQ(Probe().other_driver, path);
  settings_.pod_uid.clear();
  EXPECT_EQ(Probe().other_driver, "") << "it may be this plugin's own";
}

TEST_F(GpuProbeTest, DevicePlugin_IsAwaitedUntilItIsGone) {
  status_.offered_gpus = "8";
  settings_.preflight_wait = 60;
  on_pause_ = [this] {
    if (pauses_ == 3) status_.offered_gpus.clear();
  };
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 3);
  EXPECT_TRUE(said_.starts_with("MISSING A device plugin offers nvidia.com/gpu: 8")) << said_;
}

TEST_F(GpuProbeTest, WhatIsMissing_IsAwaitedAsLongAsTheSettingsSay) {
  status_.offered_gpus = "8";
  settings_.preflight_wait = 10;
  EXPECT_FALSE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 5);
  EXPECT_EQ(said_.find('\n'), said_.size() - 1) << "each line is said once";
}

TEST_F(GpuProbeTest, ClaimsOfThisBoot_AreHeldByPods) {
  EXPECT_FALSE(Probe().has_prepared);
  Put("plugins/gpu.nvidia.com/checkpoint.json",
      Encode(Checkpoint{.claims = {{"a", {.name = "c", .ns = "ns"}}}, .boot_id = "boot"}));
  EXPECT_TRUE(Probe().has_prepared);
  status_.offered_gpus = "8";
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_TRUE(said_.starts_with("NOTE A device plugin offers"));
}

}  // namespace
}  // namespace gpu

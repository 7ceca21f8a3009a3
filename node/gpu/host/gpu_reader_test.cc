// Goal: what a node's files and NVIDIA's library say becomes a GpuNode.
// Method: a node as files in a folder, with the stand-in for NVIDIA's library.
#include "node/gpu/host/gpu_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "test/fixtures/in_folder.h"

namespace gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevices =
    "Character devices:\n195 nvidia-frontend\n236 nvidia-caps\n511 nvidia-uvm\n";

class GpuReaderTest : public fixtures::InFolder {
 protected:
  GpuReaderTest() {
    Describe(
        "driver version=580.95.05 cuda=13000\n"
        "gpu minor=0 uuid=GPU-0 pci=00000000:65:00.0 mig=0\n"
        "gpu minor=1 uuid=GPU-1 pci=00000000:66:00.0 mig=1\n"
        "profile number=0 id=19 slices=1 memory=9856\n"
        "instance index=0 uuid=MIG-0 gi=7 ci=0 profile=19 start=2 size=1 compute=1\n");
    ::setenv("STAND_IN_NVML_FILE", Path("gpus").c_str(), 1);
    Put("devices", kDevices);
    fs::create_directories(Path("root/usr/lib64"));
    fs::copy_file(CDOM_NVML_STAND_IN, Path("root/usr/lib64/libnvidia-ml.so.1"));
    Put("root/usr/lib64/libcuda.so.580.95.05", "");
    Put("caps/gpu1/mig/gi7/access", "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
    Put("caps/gpu1/mig/gi7/ci0/access", "DeviceFileMinor: 67\nDeviceFileMode: 292\n");
    Put("sys/bus/pci/devices/0000:65:00.0/drm/card1/dev", "226:1\n");
    Put("sys/bus/pci/devices/0000:65:00.0/drm/renderD128/dev", "226:128\n");
    Put("sys/bus/pci/devices/0000:65:00.0/drm/controlD64/dev", "226:64\n");
    Put("sys/bus/pci/devices/0000:65:00.0/drm/card2/dev", "no numbers");
  }
  ~GpuReaderTest() override { ::unsetenv("STAND_IN_NVML_FILE"); }

  void Describe(const std::string& machine) const { Put("gpus", machine); }
  base::Result<GpuRead> Read(const std::string& hook = "") {
    return HostGpuReader({.node = "node-a",
                          .driver_root = Path("root"),
                          .host_driver_root = "/run/driver",
                          .devices = Path("devices"),
                          .capabilities = Path("caps"),
                          .sysfs = Path("sys"),
                          .hook = hook},
                         [this] { ++after_; })
        .Read();
  }
  std::string Error() {
    const auto read = Read();
    EXPECT_FALSE(read);
    EXPECT_EQ(after_, 0) << "rights are dropped only after a read that succeeds";
    return read ? "" : read.error().message;
  }

  int after_ = 0;
};

std::vector<std::string> PathsOf(const std::vector<cdi::DeviceNode>& nodes) {
  std::vector<std::string> paths;
  for (const cdi::DeviceNode& node : nodes) paths.push_back(node.path);
  return paths;
}

TEST_F(GpuReaderTest, R8_Node_IsReadWithoutDeviceFiles) {
  const auto read = Read();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(after_, 1);
  const GpuNode& node = read->node;
  EXPECT_EQ(node.node, "node-a");
  EXPECT_EQ(node.driver_version, "580.95.05");
  EXPECT_EQ(node.numbers, (DeviceNumbers{.gpus = 195, .uvm = 511}));
  ASSERT_EQ(node.inventory.devices.size(), 2U);
  EXPECT_EQ(node.inventory.devices[0].name, "gpu-0");
  EXPECT_EQ(node.inventory.devices[1].name.substr(0, 10), "gpu-1-mig-");
  EXPECT_TRUE(node.inventory.unpublished.empty());
  EXPECT_EQ(node.common.env[0], "NVIDIA_VISIBLE_DEVICES=void");
  EXPECT_EQ(
      PathsOf(node.common.nodes),
      (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}));
  EXPECT_TRUE(std::ranges::any_of(node.common.mounts, [](const cdi::Mount& mount) {
    return mount.host_path == "/run/driver/usr/lib64/libcuda.so.580.95.05";
  }));
  EXPECT_TRUE(node.common.hooks.empty());
}

TEST_F(GpuReaderTest, FurtherNodes_AreThoseOfGraphicsAndOfMig) {
  const GpuNode node = Read()->node;
  EXPECT_EQ(PathsOf(node.further_nodes.at("gpu-0")),
            (std::vector<std::string>{"/dev/dri/card1", "/dev/dri/renderD128"}));
  EXPECT_EQ(node.further_nodes.at("gpu-0")[1].major, 226);
  EXPECT_EQ(node.further_nodes.at("gpu-0")[1].minor, 128);
  const auto& mig = node.further_nodes.at(node.inventory.devices[1].name);
  EXPECT_EQ(PathsOf(mig), (std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap66",
                                                    "/dev/nvidia-caps/nvidia-cap67"}));
  EXPECT_EQ(mig[0].major, 236);
}

TEST_F(GpuReaderTest, MigInstanceWithoutCapabilities_IsNotPublished) {
  fs::remove(Path("caps/gpu1/mig/gi7/ci0/access"));
  GpuNode node = Read()->node;
  EXPECT_EQ(node.inventory.devices.size(), 1U);
  ASSERT_EQ(node.inventory.unpublished.size(), 1U);
  EXPECT_TRUE(node.inventory.unpublished[0].why.starts_with("has no capabilities: "));
  Put("devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  node = Read()->node;
  EXPECT_EQ(node.numbers.gpus, 195) << "newer drivers have no frontend";
  EXPECT_TRUE(node.inventory.unpublished[0].why.ends_with("has no nvidia-caps"));
}

TEST_F(GpuReaderTest, R6_LostGpu_IsNamedAndOthersAreRead) {
  Describe(
      "gpu minor=0 uuid=GPU-0 pci=00000000:65:00.0\n"
      "gpu minor=1 uuid=GPU-1 pci=00000000:66:00.0 fail=15\n");
  const GpuNode node = Read()->node;
  EXPECT_EQ(node.inventory.devices.size(), 1U);
  ASSERT_EQ(node.inventory.unpublished.size(), 1U);
  EXPECT_TRUE(node.inventory.unpublished[0].is_lost);
}

TEST_F(GpuReaderTest, Modeset_IsGivenIfItsModuleIsLoaded) {
  fs::create_directories(Path("root/dev"));
  fs::create_symlink("/dev/null", Path("root/dev/nvidiactl"));
  fs::create_symlink("/dev/null", Path("root/dev/nvidia-modeset"));
  EXPECT_EQ(PathsOf(Read()->node.common.nodes).back(), "/dev/nvidia-modeset");
}

TEST_F(GpuReaderTest, Hook_IsOfTheContainersSpec) {
  const GpuNode node = Read("/hook")->node;
  ASSERT_FALSE(node.common.hooks.empty());
  EXPECT_EQ(node.common.hooks[0].path, "/hook");
}

TEST_F(GpuReaderTest, WhatIsMissing_IsNamedWithTheFix) {
  Put("devices", "Character devices:\n511 nvidia-uvm\n");
  EXPECT_TRUE(Error().ends_with("has no nvidia: load NVIDIA's driver (modprobe nvidia)"));
  Put("devices", "Character devices:\n195 nvidia\n");
  EXPECT_TRUE(Error().ends_with("CUDA needs: load it (modprobe nvidia-uvm)"));
  fs::remove(Path("devices"));
  EXPECT_NE(Error().find("devices"), std::string::npos);
  Put("devices", kDevices);
  fs::remove(Path("root/usr/lib64/libcuda.so.580.95.05"));
  EXPECT_NE(Error().find("580.95.05"), std::string::npos);
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  EXPECT_NE(Error().find("libnvidia-ml.so.1 does not exist"), std::string::npos);
}

TEST_F(GpuReaderTest, DriverMark_ChangesWithTheDriver) {
  const auto mark = [this] {
    return HostGpuReader({.driver_root = Path("root"), .devices = Path("devices")}).DriverMark();
  };
  const std::string before = mark();
  EXPECT_EQ(mark(), before);
  Put("devices", "Character devices:\n195 nvidia\n510 nvidia-uvm\n");
  EXPECT_NE(mark(), before);
}

TEST_F(GpuReaderTest, FindHook_KnowsBothPlaces) {
  EXPECT_EQ(FindHook(Path("root")), "");
  Put("root/usr/local/nvidia/toolkit/nvidia-cdi-hook", "");
  EXPECT_EQ(FindHook(Path("root")), "/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  Put("root/usr/bin/nvidia-cdi-hook", "");
  EXPECT_EQ(FindHook(Path("root")), "/usr/bin/nvidia-cdi-hook");
}

}  // namespace
}  // namespace gpu

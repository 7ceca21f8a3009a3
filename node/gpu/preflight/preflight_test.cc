#include "node/gpu/preflight/preflight.h"

#include <gtest/gtest.h>

namespace gpu {
namespace {

// A node on which all is well. Each test changes one thing.
NodeProbe Fine() {
  return {.driver_root = "/",
          .driver_version = "580.95.05",
          .has_gpu_numbers = true,
          .has_uvm_numbers = true,
          .devices = 8,
          .runtime = "containerd://2.1.4"};
}

// The only finding. `stops` is what it must be.
std::string Only(const NodeProbe& found, bool stops = true) {
  const std::vector<Finding> findings = Preflight(found);
  EXPECT_EQ(findings.size(), 1U);
  if (findings.empty()) return {};
  EXPECT_EQ(findings[0].stops, stops);
  return findings[0].text;
}

TEST(GpuPreflight, NodeThatHasAll_IsToldNothing) {
  EXPECT_EQ(Preflight(Fine()), std::vector<Finding>());
}

TEST(GpuPreflight, KernelModules_AreNamed) {
  NodeProbe found = Fine();
  found.has_gpu_numbers = false;
  EXPECT_EQ(Only(found),
            "NVIDIA's driver: /proc/devices has no nvidia: load its module (modprobe nvidia)");
  found = Fine();
  found.has_uvm_numbers = false;
  EXPECT_EQ(Only(found),
            "NVIDIA's driver: /proc/devices has no nvidia-uvm, which CUDA needs: load it (modprobe "
            "nvidia-uvm)");
}

TEST(GpuPreflight, LibraryThatCannotBeUsed_IsNamedWithItsRoot) {
  NodeProbe found = Fine();
  found.driver_root = "/run/nvidia/driver";
  found.library_trouble = "libnvidia-ml.so.1 does not exist";
  found.driver_version.clear();
  found.devices = 0;
  EXPECT_EQ(Only(found),
            "NVIDIA's driver: libnvidia-ml.so.1 does not exist; its root on the host is "
            "/run/nvidia/driver here: install the driver, or say where it is, NVIDIA_DRIVER_ROOT, "
            "and mount that");
}

TEST(GpuPreflight, DriverOfTwoVersions_IsNamed) {
  NodeProbe found = Fine();
  found.other_versions = {"570.1", "575.2"};
  EXPECT_EQ(Only(found, false),
            "NVIDIA's driver is 580.95.05, and there are libraries of 570.1, 575.2: end the "
            "upgrade, or remove those of the other driver");
  found.files_trouble = "no library of NVIDIA's driver 580.95.05";
  const auto findings = Preflight(found);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings[0].stops);
  EXPECT_EQ(findings[0].text, found.files_trouble);
}

TEST(GpuPreflight, NodeWithoutGpus_IsTold) {
  NodeProbe found = Fine();
  found.devices = 0;
  EXPECT_EQ(Only(found),
            "GPUs: NVIDIA's library finds none: keep the plugin off this node by its node "
            "selector, or look at the driver's log (dmesg)");
}

TEST(GpuPreflight, R6_LostGpu_StopsOnlyIfItWasTheLast) {
  NodeProbe found = Fine();
  found.unpublished = {"GPU 3 cannot be read: GPU is lost"};
  const std::string text =
      "GPUs: GPU 3 cannot be read: GPU is lost: look at the driver's log (dmesg); it is published "
      "once it is read";
  EXPECT_EQ(Only(found, false), text);
  found.devices = 0;
  EXPECT_EQ(Only(found), text);
}

TEST(GpuPreflight, WhatWouldGiveAGpuTwice_Stops) {
  NodeProbe found = Fine();
  found.other_driver = "/registry/gpu.nvidia.com-reg.sock";
  EXPECT_EQ(Only(found),
            "Another driver serves gpu.nvidia.com on this node, at "
            "/registry/gpu.nvidia.com-reg.sock: remove it, or two drivers give the same GPUs");
  found = Fine();
  found.offered_gpus = "8";
  EXPECT_EQ(Only(found),
            "A device plugin offers nvidia.com/gpu: 8 on this node: remove it from the node, or "
            "one GPU is given twice");
}

TEST(GpuPreflight, ContainerRuntime_MustReadCdi) {
  NodeProbe found = Fine();
  found.cdi_trouble = "/cdi cannot be written";
  EXPECT_EQ(Only(found),
            "CDI: /cdi cannot be written: mount the host's folder there, to be written");
  found = Fine();
  found.runtime = "containerd://1.6.9";
  EXPECT_EQ(Only(found),
            "CDI: containerd 1.6.9 ignores devices without an error: install 1.7 or later");
  found.runtime = "containerd://1.7.2";
  EXPECT_TRUE(Only(found, false).starts_with("CDI: containerd 1.7.2 has CDI off by default"));
  for (const char* runtime : {"", "cri-o://1.30", "containerd://x"}) {
    found.runtime = runtime;
    EXPECT_TRUE(Preflight(found).empty()) << runtime;
  }
}

TEST(GpuPreflight, WhilePodsHoldDevices_NothingStops) {
  NodeProbe found = Fine();
  found.has_prepared = true;
  found.has_uvm_numbers = false;
  found.offered_gpus = "8";
  for (const Finding& finding : Preflight(found)) EXPECT_FALSE(finding.stops) << finding.text;
  EXPECT_EQ(Preflight(found).size(), 2U);
}

}  // namespace
}  // namespace gpu

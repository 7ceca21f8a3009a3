#include "node/plugin/preflight/probe.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "node/plugin/host/file_disk.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/testing/manual_clock.h"
#include "test/fixtures/in_folder.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBoot = "6f1c2b5e-0f6a-4d53-9f1e-0c8f2a1b3c4d";
constexpr const char* kClaim = "73de0384-716f-480e-8caa-00bce7016114";

// A node with all that is needed, as files. Each test takes one thing away.
class ProbeNodeTest : public fixtures::InFolder {
 protected:
  ProbeNodeTest() {
    ::setenv("STAND_IN_NVML_GPUS", "GB200,0,3,0,1,1", 1);
    Put("root/usr/bin/nvidia-imex", "");
    Put("root/usr/bin/nvidia-imex-ctl", "");
    Put("root/proc/driver/nvidia/capabilities/fabric-imex-mgmt",
        "DeviceFileMinor: 512\nDeviceFileMode: 438\n");
    Put("devices", "Character devices:\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n");
    Put("boot_id", std::string(kBoot) + "\n");
    fs::create_directories(Path("root/usr/lib64"));
    fs::copy_file(CDOM_NVML_STAND_IN, Path("root/usr/lib64/libnvidia-ml.so.1"));
    Put("root/usr/lib64/libcuda.so.580.95.05", "");
    settings_.driver_root = Path("root");
    settings_.devices = Path("devices");
    settings_.boot_id = Path("boot_id");
    settings_.host_cgroups = Path("cgroup");
    settings_.plugins_folder = Path("plugins");
    settings_.cdi_folder = Path("cdi");
  }
  ~ProbeNodeTest() override { ::unsetenv("STAND_IN_NVML_GPUS"); }
  ProbeContext Context() {
    return {.settings = settings_,
            .clock = clock_,
            .runtime = [] { return std::string("containerd://2.1.4"); },
            .say = [this](const std::string& line) { said_ += line + "\n"; },
            .pause =
                [this](std::chrono::nanoseconds time) {
                  clock_.Advance(time);
                  if (++pauses_ == 3 && after_three_) after_three_();
                }};
  }

  Settings settings_;
  base::ManualClock clock_;
  std::string said_ = {};
  int pauses_ = 0;
  std::function<void()> after_three_ = {};
};

TEST_F(ProbeNodeTest, WhatIsThereIsFound) {
  const NodeProbe found = ProbeNode(Context());
  EXPECT_EQ(found.library_trouble, "");
  EXPECT_EQ(found.driver_version, "580.95.05");
  EXPECT_EQ(found.fabric, NodeProbe::Fabric::kJoined);
  EXPECT_TRUE(found.has_channels && found.has_management && found.has_imex && found.has_ctl);
  EXPECT_FALSE(found.runs_on_host || found.has_prepared || found.has_socket);
  EXPECT_EQ(found.cdi_trouble, "");
  EXPECT_EQ(found.runtime, "containerd://2.1.4");
  EXPECT_TRUE(Preflight(found).empty());
}

TEST_F(ProbeNodeTest, WhatIsNotThereIsFoundMissing) {
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  fs::remove(Path("root/usr/bin/nvidia-imex"));
  fs::remove(Path("devices"));
  fs::remove_all(Path("root/proc"));
  settings_.cdi_folder = Path("boot_id/cdi");
  const NodeProbe found = ProbeNode(Context());
  EXPECT_NE(found.library_trouble.find("libnvidia-ml.so.1 does not exist"), std::string::npos);
  EXPECT_EQ(found.fabric, NodeProbe::Fabric::kUnknown);
  EXPECT_FALSE(found.has_channels || found.has_management || found.has_imex);
  EXPECT_TRUE(found.has_ctl);
  EXPECT_NE(found.cdi_trouble.find(settings_.cdi_folder), std::string::npos);
}

// The plugin would refuse to serve for it.
TEST_F(ProbeNodeTest, REV4_P7_LibrariesAreSoughtWhereThePluginSeeksThem) {
  fs::create_directories(Path("root/opt/driver"));
  fs::rename(Path("root/usr/lib64/libcuda.so.580.95.05"),
             Path("root/opt/driver/libcuda.so.580.95.05"));
  const std::vector<Finding> findings = Preflight(ProbeNode(Context()));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].stops);
  EXPECT_NE(findings[0].text.find("name their folder there (NVIDIA_DRIVER_LIBRARY_PATHS)"),
            std::string::npos);
  settings_.library_folders = {"/opt/driver"};
  EXPECT_TRUE(Preflight(ProbeNode(Context())).empty());
  settings_.library_folders.clear();
  settings_.host_managed = true;
  for (const Finding& finding : Preflight(ProbeNode(Context()))) {
    EXPECT_EQ(finding.text.find("libcuda"), std::string::npos) << "there are no daemons";
  }
}

TEST_F(ProbeNodeTest, FabricIsAsTheDriverSaysIt) {
  ::setenv("STAND_IN_NVML_GPUS", "T4,0,0,0,0,0", 1);
  EXPECT_EQ(ProbeNode(Context()).fabric, NodeProbe::Fabric::kNone);
  ::setenv("STAND_IN_NVML_GPUS", "GB200,0,2,0,1,1", 1);
  EXPECT_EQ(ProbeNode(Context()).fabric, NodeProbe::Fabric::kForming);
  ::setenv("STAND_IN_NVML_GPUS", "GB200,0,3,9,1,1", 1);
  const NodeProbe found = ProbeNode(Context());
  EXPECT_EQ(found.fabric, NodeProbe::Fabric::kBroken);
  EXPECT_NE(found.fabric_trouble, "");
}

TEST_F(ProbeNodeTest, ImexOfTheHostIsSeenByTheProcessesOfItsUnit) {
  for (const char* above : {"cgroup", "cgroup/unified"}) {
    const std::string file = std::string(above) + "/system.slice/nvidia-imex.service/cgroup.events";
    Put(file, "populated 0\nfrozen 0\n");  // It has ended, and its folder is there.
    EXPECT_FALSE(ProbeNode(Context()).runs_on_host) << above;
    Put(file, "populated 1\nfrozen 0\n");
    EXPECT_TRUE(ProbeNode(Context()).runs_on_host) << above;
    fs::remove(Path(file));
  }
}

TEST_F(ProbeNodeTest, ImexOfTheHostIsSeenByTheFolderOfItsUnitInVersion1OfCgroups) {
  EXPECT_FALSE(ProbeNode(Context()).runs_on_host);
  fs::create_directories(Path("cgroup/systemd/system.slice/nvidia-imex.service"));
  EXPECT_TRUE(ProbeNode(Context()).runs_on_host);
}

TEST_F(ProbeNodeTest, SocketOfTheHostsImexIsFoundUnderTheDriversRoot) {
  settings_.imex_socket = "/ctl";
  Put("root/ctl", "");
  EXPECT_FALSE(ProbeNode(Context()).has_socket);
  fs::remove(Path("root/ctl"));
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  const std::string path = Path("root/ctl");
  ASSERT_LT(path.size(), sizeof(at.sun_path));
  std::memcpy(at.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  EXPECT_TRUE(ProbeNode(Context()).has_socket);
  ::close(listener);
}

TEST_F(ProbeNodeTest, ClaimsOfThisBootAloneAreHeldByPods) {
  const std::string checkpoint = "plugins/compute-domain.nvidia.com/checkpoint.json";
  Checkpoint noted = {.boot_id = kBoot};
  Put(checkpoint, Encode(noted));
  EXPECT_FALSE(ProbeNode(Context()).has_prepared);
  noted.claims[kClaim] = {};
  Put(checkpoint, Encode(noted));
  EXPECT_TRUE(ProbeNode(Context()).has_prepared);
  noted.boot_id = "11111111-0f6a-4d53-9f1e-0c8f2a1b3c4d";
  Put(checkpoint, Encode(noted));
  EXPECT_FALSE(ProbeNode(Context()).has_prepared);
  // What cannot be read may be of pods that are there.
  Put(checkpoint, "{");
  EXPECT_TRUE(ProbeNode(Context()).has_prepared);
  Put(checkpoint, std::string(dra::kCheckpointBytesMax + 1, ' '));
  EXPECT_TRUE(ProbeNode(Context()).has_prepared);
}

TEST_F(ProbeNodeTest, NodeThatHasAllIsNotWaitedFor) {
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 0);
  EXPECT_EQ(said_,
            "This node has everything that is needed: driver 580.95.05, containerd://2.1.4\n");
}

TEST_F(ProbeNodeTest, WhatIsMissingIsSaidOnceAndWaitedForAsLongAsTheSettingsSay) {
  fs::remove(Path("root/usr/bin/nvidia-imex"));
  settings_.preflight_wait = 10;
  EXPECT_FALSE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 5);
  EXPECT_TRUE(said_.starts_with("MISSING IMEX: nvidia-imex is not under the driver's root"));
  EXPECT_EQ(said_.find('\n'), said_.size() - 1);
}

TEST_F(ProbeNodeTest, WhatComesMeanwhileIsEnough) {
  fs::remove(Path("root/usr/bin/nvidia-imex"));
  settings_.preflight_wait = 60;
  after_three_ = [this] { Put("root/usr/bin/nvidia-imex", ""); };
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 3);
  EXPECT_TRUE(said_.ends_with(
      "This node has everything that is needed: driver 580.95.05, containerd://2.1.4\n"));
}

TEST_F(ProbeNodeTest, FactsAreSaidOnceAndOnlyIfAskedFor) {
  fs::remove(Path("root/usr/bin/nvidia-imex"));
  settings_.preflight_wait = 10;
  EXPECT_FALSE(WaitForNode(Context()));
  EXPECT_EQ(said_.find("FACT"), std::string::npos);
  said_.clear();
  settings_.preflight_facts = true;
  EXPECT_FALSE(WaitForNode(Context()));
  const std::string facts = "FACT library: " + Path("root/usr/lib64/libnvidia-ml.so.1") +
                            "\nFACT driver: 580.95.05\nFACT gpu 0: state 3, status 0, clique "
                            "01010101-0101-0101-0101-010101010101.1, health 0x0\n";
  EXPECT_TRUE(said_.starts_with(facts)) << said_;
  EXPECT_EQ(said_.find("FACT", facts.size()), std::string::npos);
}

TEST_F(ProbeNodeTest, NoteIsSaidAndKeepsNobody) {
  fs::remove_all(Path("root/proc"));
  settings_.preflight_wait = 60;
  EXPECT_TRUE(WaitForNode(Context()));
  EXPECT_EQ(pauses_, 0);
  EXPECT_TRUE(said_.starts_with("NOTE IMEX: the driver has no capability fabric-imex-mgmt"));
}

}  // namespace
}  // namespace plugin

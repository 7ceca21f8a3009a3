#include "node/plugin/preflight/preflight.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plugin {
namespace {

// A node of a rack, on which all is well. Each test changes one thing.
NodeProbe Rack() {
  return {.driver_root = "/",
          .imex_socket = "/etc/nvidia-imex/imex_ctrl.sock",
          .driver_version = "580.95.05",
          .imex_version = "580.95.05",
          .runtime = "containerd://2.1.4",
          .fabric = NodeProbe::Fabric::kJoined,
          .has_channels = true,
          .has_management = true,
          .has_imex = true,
          .has_ctl = true};
}
NodeProbe HostManaged() {
  NodeProbe found = Rack();
  found.host_managed = true;
  found.has_imex = false;
  found.runs_on_host = true;
  found.has_socket = true;
  return found;
}

std::vector<std::string> Texts(const NodeProbe& found, bool stops) {
  std::vector<std::string> texts;
  for (const Finding& finding : Preflight(found)) {
    if (finding.stops == stops) texts.push_back(finding.text);
  }
  return texts;
}
// The one thing that is found, and it stops.
std::string Stop(const NodeProbe& found) {
  EXPECT_EQ(Preflight(found).size(), 1);
  const auto texts = Texts(found, true);
  return texts.size() == 1 ? texts[0] : "";
}
std::string Note(const NodeProbe& found) {
  EXPECT_EQ(Preflight(found).size(), 1);
  const auto texts = Texts(found, false);
  return texts.size() == 1 ? texts[0] : "";
}

TEST(Preflight, NodeThatHasAllIsToldNothing) {
  EXPECT_EQ(Preflight(Rack()), std::vector<Finding>());
  EXPECT_EQ(Preflight(HostManaged()), std::vector<Finding>());
}

TEST(Preflight, WithoutTheDriverTheRootIsNamedAndHowToSayAnother) {
  NodeProbe found = Rack();
  found.driver_root = "/run/nvidia/driver";
  found.library_trouble = "libnvidia-ml.so.1 does not exist";
  found.driver_version = "";
  found.imex_version = "";
  found.fabric = NodeProbe::Fabric::kUnknown;
  EXPECT_EQ(Stop(found),
            "NVIDIA's driver: libnvidia-ml.so.1 does not exist; its root on the host is "
            "/run/nvidia/driver here: install the driver, or say where it is, NVIDIA_DRIVER_ROOT, "
            "and mount that");
}

TEST(Preflight, DriverWhoseImexKnowsNoNamesIsTooOldWhereDaemonsUseThem) {
  NodeProbe found = Rack();
  found.driver_version = found.imex_version = "570.133.20";
  EXPECT_EQ(Stop(found),
            "NVIDIA's driver is 570.133.20, whose IMEX does not know its peers by names: install "
            "570.158.01 or later");
  found = HostManaged();
  found.driver_version = "570.133.20";
  EXPECT_EQ(Preflight(found), std::vector<Finding>());
}

TEST(Preflight, KernelWithoutChannelsIsToldWhichModule) {
  NodeProbe found = Rack();
  found.has_channels = false;
  EXPECT_EQ(Stop(found),
            "IMEX channels: /proc/devices has no nvidia-caps-imex-channels: load the kernel "
            "module nvidia, of a driver that has them (modprobe nvidia)");
}

TEST(Preflight, MissingProgramsOfImexAreNamedWithPackageAndVersion) {
  NodeProbe found = Rack();
  found.has_imex = false;
  EXPECT_EQ(Stop(found),
            "IMEX: nvidia-imex is not under the driver's root, / of the host: install NVIDIA's "
            "package nvidia-imex there, of the driver's version 580.95.05");
  found.has_ctl = false;
  EXPECT_TRUE(Stop(found).starts_with("IMEX: nvidia-imex and nvidia-imex-ctl are not"));
  found.has_imex = true;
  EXPECT_TRUE(Stop(found).starts_with("IMEX: nvidia-imex-ctl is not"));
}

TEST(Preflight, NodeWithoutAFabricNeedsNoImex) {
  NodeProbe found = Rack();
  found.fabric = NodeProbe::Fabric::kNone;
  found.has_imex = found.has_ctl = found.has_management = false;
  EXPECT_EQ(Preflight(found), std::vector<Finding>());
  // One of which it is not known yet does.
  found.fabric = NodeProbe::Fabric::kUnknown;
  EXPECT_FALSE(Texts(found, true).empty());
}

TEST(Preflight, ImexOfTheHostIsInTheDaemonsWayWithTheCommandThatEndsIt) {
  NodeProbe found = Rack();
  found.runs_on_host = true;
  EXPECT_NE(Stop(found).find("systemctl disable --now nvidia-imex.service"), std::string::npos);
  found = HostManaged();
  found.runs_on_host = false;  // What counts is whether it answers.
  EXPECT_EQ(Preflight(found), std::vector<Finding>());
}

TEST(Preflight, ImexOfAnotherVersionThanTheDriverIsToldAndStopsNobody) {
  NodeProbe found = Rack();
  found.imex_version = "580.82.07";
  EXPECT_EQ(Note(found),
            "IMEX is 580.82.07 and the driver 580.95.05: NVIDIA supports only equal "
            "versions: install the nvidia-imex of the driver's version");
  found.imex_version = "";
  EXPECT_EQ(Preflight(found), std::vector<Finding>());
}

TEST(Preflight, FabricThatFormsOrHasAnErrorStopsNobody) {
  NodeProbe found = Rack();
  found.fabric_trouble = "GPU 3 has not joined";
  found.fabric = NodeProbe::Fabric::kForming;
  EXPECT_EQ(Note(found), "NVLink fabric: GPU 3 has not joined; the plugin waits for it");
  found.fabric = NodeProbe::Fabric::kBroken;
  EXPECT_EQ(Note(found),
            "NVLink fabric: GPU 3 has not joined; nothing new is placed here until this is fixed");
}

TEST(Preflight, DriverWithoutTheCapabilityIsTold) {
  NodeProbe found = Rack();
  found.has_management = false;
  EXPECT_NE(Note(found).find("fabric-imex-mgmt"), std::string::npos);
}

TEST(Preflight, WhereTheHostRunsImexItsControlProgramAndSocketCount) {
  NodeProbe found = HostManaged();
  found.has_ctl = false;
  EXPECT_TRUE(Stop(found).starts_with("IMEX: nvidia-imex-ctl is not"));
  found = HostManaged();
  found.has_socket = false;  // It may come later, and the plugin asks again.
  EXPECT_NE(Note(found).find("/etc/nvidia-imex/imex_ctrl.sock"), std::string::npos);
}

TEST(Preflight, FolderOfCdiThatCannotBeWrittenStops) {
  NodeProbe found = Rack();
  found.cdi_trouble = "/var/run/cdi cannot be written: Read-only file system";
  EXPECT_EQ(Stop(found),
            "CDI: /var/run/cdi cannot be written: Read-only file system: mount the host's folder "
            "there, to be written");
}

TEST(Preflight, RuntimeThatKnowsNoCdiStopsAndOneThatMayNotIsTold) {
  NodeProbe found = Rack();
  found.runtime = "containerd://1.6.20~ds1";
  EXPECT_EQ(Stop(found),
            "CDI: containerd 1.6.20~ds1 ignores devices without an error: install 1.7 or later");
  found.runtime = "containerd://1.7.27";
  EXPECT_NE(Note(found).find("enable_cdi = true"), std::string::npos);
  for (const char* runtime : {"containerd://2.0.0", "cri-o://1.34.0", "containerd://", "", "x"}) {
    found.runtime = runtime;
    EXPECT_EQ(Preflight(found), std::vector<Finding>()) << runtime;
  }
}

TEST(Preflight, NodeWhosePodsHoldDevicesIsToldAllAndStoppedByNothing) {
  NodeProbe found = {.driver_root = "/",
                     .library_trouble = "libnvidia-ml.so.1 does not exist",
                     .cdi_trouble = "it is gone",
                     .runs_on_host = true};
  const auto stops = Texts(found, true);
  EXPECT_GE(stops.size(), 5U);
  found.has_prepared = true;
  EXPECT_TRUE(Texts(found, true).empty());
  EXPECT_EQ(Texts(found, false), stops);
}

TEST(Preflight, VersionOfImexIsTheFirstWordThatLooksLikeOne) {
  EXPECT_EQ(ImexVersionIn("IMEX version is: 580.95.05\n"), "580.95.05");
  EXPECT_EQ(ImexVersionIn("nvidia-imex 2: 1... 595.1"), "595.1");
  for (const char* output : {"", "no version", "12", "...", "1."}) {
    EXPECT_EQ(ImexVersionIn(output), "") << output;
  }
}

TEST(Preflight, REV3_N18_NodeWithoutAFabricMayRunImexOfItsOwn) {
  NodeProbe found = Rack();
  found.fabric = NodeProbe::Fabric::kNone;
  found.runs_on_host = true;
  EXPECT_EQ(Preflight(found), std::vector<Finding>());
}

TEST(Preflight, REV3_N18_FabricThatStillFormsDoesNotStopANodeWithoutImex) {
  NodeProbe found = Rack();
  found.fabric = NodeProbe::Fabric::kForming;
  found.has_imex = found.has_ctl = false;
  EXPECT_TRUE(Texts(found, true).empty());
  EXPECT_EQ(Texts(found, false).size(), 2U);
}

TEST(Preflight, REV3_FabricHealthIsTold) {
  NodeProbe found = Rack();
  found.fabric_health = "GPU 0: degraded bandwidth";
  EXPECT_NE(Note(found).find("NVML reports GPU 0: degraded bandwidth"), std::string::npos);
}

TEST(FactsOf, EachIsALineWithTheNumbersOfTheLibrary) {
  NodeProbe found = Rack();
  found.library = "/usr/lib64/libnvidia-ml.so.580.95.05";
  nvml::Fabric gpu = {.gpu = 2,
                      .state = nvml::Fabric::State::kCompleted,
                      .status = 15,
                      .clique = 7,
                      .health = 0x2aa};
  gpu.cluster.fill(0xab);
  found.fabrics = {gpu};
  EXPECT_EQ(FactsOf(found), (std::vector<std::string>{
                                "library: /usr/lib64/libnvidia-ml.so.580.95.05",
                                "driver: 580.95.05",
                                "imex: 580.95.05",
                                "gpu 2: state 3, status 15, clique "
                                "abababab-abab-abab-abab-abababababab.7, health 0x2aa",
                            }));
}

TEST(FactsOf, NodeWithoutALibraryHasItsTroubleAlone) {
  EXPECT_EQ(FactsOf({.library_trouble = "it is nowhere"}),
            std::vector<std::string>{"trouble: it is nowhere"});
}

}  // namespace
}  // namespace plugin

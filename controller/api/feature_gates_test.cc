#include "controller/api/feature_gates.h"

#include <gtest/gtest.h>

#include "pkg/kube/testing/fakes.h"

namespace api {
namespace {

// Returns the settings of the gates that are ignored. The reason that the text is refused, if it
// is.
std::vector<std::string> Ignored(const std::string& text, bool imex_on_hosts = false) {
  const auto gates = FeatureGates::Read(text);
  if (!gates) return {gates.error().message};
  std::vector<std::string> ignored;
  for (const IgnoredGate& gate : gates->Ignored(imex_on_hosts)) ignored.push_back(gate.Setting());
  return ignored;
}
using Settings = std::vector<std::string>;

// Of NVIDIA's driver 0.5.0: what its controller sends to daemons if nothing is set.
constexpr const char* kDefaults =
    "AllAlpha=false,AllBeta=false,ComputeDomainCliques=true,ConsumableShares=false,"
    "ContextualLogging=true,CrashOnNVLinkFabricErrors=true,DRAListTypeAttributes=false,"
    "DeviceMetadata=false,DynamicMIG=false,FabricManagerPartitioning=false,"
    "HostManagedIMEXDaemon=false,IMEXDaemonsWithDNSNames=true,LoggingAlphaOptions=false,"
    "LoggingBetaOptions=true,MPSSupport=false,NVMLDeviceHealthCheck=false,"
    "PassthroughSupport=false,TimeSlicingSettings=false,";

TEST(FeatureGates, Defaults_AreHonoured) {
  EXPECT_EQ(Ignored(""), Settings());
  EXPECT_EQ(Ignored(kDefaults), Settings());
  const FeatureGates none;
  EXPECT_TRUE(none.IsOn("CrashOnNVLinkFabricErrors"));
  EXPECT_FALSE(none.IsOn("HostManagedIMEXDaemon"));
}

TEST(FeatureGates, GatesOfGpusAndLogs_AreNotOurs) {
  for (const char* gate :
       {"ConsumableShares", "ContextualLogging", "DRAListTypeAttributes", "DeviceMetadata",
        "DynamicMIG", "LoggingAlphaOptions", "LoggingBetaOptions", "MPSSupport",
        "NVMLDeviceHealthCheck", "PassthroughSupport", "PerNodeGPUConfig", "TimeSlicingSettings"}) {
    EXPECT_EQ(Ignored(gate + std::string("=true")), Settings()) << gate;
    EXPECT_EQ(Ignored(gate + std::string("=false")), Settings()) << gate;
  }
}

TEST(FeatureGates, GatesOfDomains_AreHonoured_WithEitherValue) {
  for (const char* gate : {"CrashOnNVLinkFabricErrors", "FabricManagerPartitioning",
                           "HostManagedIMEXDaemon", "SeamlessUpgrades"}) {
    for (const bool value : {true, false}) {
      const std::string text = gate + std::string(value ? "=true" : "=false");
      EXPECT_EQ(Ignored(text), Settings()) << text;
      EXPECT_EQ(FeatureGates::Read(text)->IsOn(gate), value) << text;
    }
  }
}

TEST(FeatureGates, UnsupportedValue_IsNamed_WithCostAndRemedy) {
  for (const char* setting :
       {"ComputeDomainCliques=false", "IMEXDaemonsWithDNSNames=false", "NodeLocalFabricIPC=true"}) {
    EXPECT_EQ(Ignored(setting), Settings{setting});
    const auto texts = TextsOf(FeatureGates::Read(setting)->Ignored(false));
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_TRUE(
        texts[0].starts_with("Feature gate " + std::string(setting) + " is not supported: "));
    EXPECT_TRUE(texts[0].find("emove the gate") != std::string::npos) << texts[0];
    EXPECT_LE(texts[0].size(), 200U) << texts[0];
  }
  EXPECT_EQ(Ignored("NodeLocalFabricIPC=false"), Settings());
}

TEST(FeatureGates, GatesOfDaemons_HaveNoEffect_IfImexRunsOnHosts) {
  EXPECT_EQ(Ignored("ComputeDomainCliques=false,IMEXDaemonsWithDNSNames=false", true), Settings());
  EXPECT_EQ(Ignored("NodeLocalFabricIPC=true", true), Settings{"NodeLocalFabricIPC=true"});
}

TEST(FeatureGates, AllAlphaAndAllBeta_SetGatesThatAreNotNamed) {
  EXPECT_EQ(Ignored("AllBeta=false"),
            (Settings{"ComputeDomainCliques=false", "IMEXDaemonsWithDNSNames=false"}));
  EXPECT_EQ(Ignored("AllBeta=false,ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true"),
            Settings());
  EXPECT_EQ(Ignored("AllAlpha=true"), Settings{"NodeLocalFabricIPC=true"});
  EXPECT_TRUE(FeatureGates::Read("AllAlpha=true")->IsOn("FabricManagerPartitioning"));
}

TEST(FeatureGates, Json_HasEachGateWithItsValue) {
  const std::string json =
      FeatureGates::Read("MPSSupport=true,ComputeDomainCliques=false,Later=true").value().ToJson();
  for (const char* part :
       {R"("MPSSupport":true)", R"("DynamicMIG":false)", R"("Later":true)",
        R"("ComputeDomainCliques":false)", R"("IMEXDaemonsWithDNSNames":true)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << json;
  }
}

TEST(FeatureGates, GatesOfGpusThatAreOn_AreToldWithTheirCost) {
  EXPECT_TRUE(FeatureGates::Read(kDefaults)->IgnoredOfGpus().empty());
  const auto gates = FeatureGates::Read("MPSSupport=true,Later=false,DynamicMIG=false");
  const IgnoredGates ignored = gates->IgnoredOfGpus();
  ASSERT_EQ(ignored.size(), 2U);
  EXPECT_EQ(ignored[0].Setting(), "Later=false");
  EXPECT_EQ(ignored[1].Setting(), "MPSSupport=true");
  EXPECT_NE(ignored[1].cost.find("MPS are refused"), std::string::npos);
  EXPECT_EQ(FeatureGates::Read("AllAlpha=true")->IgnoredOfGpus().size(), 10U);
  EXPECT_EQ(FeatureGates::Read("AllAlpha=true,DynamicMIG=false")->IgnoredOfGpus().size(), 9U);
}

TEST(FeatureGates, UnknownGates_AreIgnored) {
  EXPECT_EQ(Ignored("Later=true,DynamicMIG=true,Sooner=false"),
            (Settings{"Later=true", "Sooner=false"}));
  EXPECT_EQ(Ignored("Ne\nw=true"), Settings{"Ne w=true"});
  EXPECT_TRUE(TextsOf(FeatureGates::Read("Later=true")->Ignored(false)).empty());
}

TEST(FeatureGates, Text_IsReadAsByNvidiasDriver) {
  EXPECT_EQ(Ignored("Later=true,, Later = F ,"), Settings{"Later=false"});  // The last counts.
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_EQ(Ignored("Later=" + std::string(yes)), Settings{"Later=true"});
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_EQ(Ignored("Later=" + std::string(no)), Settings{"Later=false"});
  }
}

TEST(FeatureGates, MalformedText_IsRefused_WithTheCorrectForm) {
  EXPECT_EQ(Ignored("ComputeDomainCliques=flase"),
            Settings{"feature gate \"ComputeDomainCliques=flase\" must be "
                     "ComputeDomainCliques=true or ComputeDomainCliques=false"});
  EXPECT_EQ(Ignored("=true"), Settings{"feature gate \"=true\" must be NAME=true or NAME=false"});
  for (const char* wrong : {"AllAlpha", "Later=maybe", "Later=", "A=true B=true", "A\nB"}) {
    EXPECT_FALSE(FeatureGates::Read(wrong)) << wrong;
    EXPECT_EQ(Ignored(wrong)[0].find('\n'), std::string::npos);
  }
}

TEST(FeatureGates, Log_HasOneLineForAllUnknownGates) {
  kube::RecordingLogger logger;
  LogIgnored(
      FeatureGates::Read("Later=true,ComputeDomainClique=false,AllBeta=false")->Ignored(false),
      logger);
  ASSERT_EQ(logger.lines().size(), 3U);
  EXPECT_EQ(logger.lines()[2].text,
            "Ignoring unknown feature gates gates=ComputeDomainClique=false (did you mean "
            "ComputeDomainCliques?), Later=true");
  EXPECT_TRUE(logger.lines()[0].text.starts_with(
      "A feature gate is not supported gate=ComputeDomainCliques=false cost=domains are served"));
  EXPECT_TRUE(logger.lines()[1].text.ends_with(
      "remedy=Upgrade the driver of such nodes, and remove the gate"));
}

TEST(FeatureGates, Labels_HaveGateValueAndWhy) {
  const auto labels = LabelsOf(FeatureGates::Read("Later=true,AllAlpha=true")->Ignored(false));
  using Labels = std::map<std::string, std::string>;
  EXPECT_EQ(labels,
            (std::vector<Labels>{
                {{"gate", "Later"}, {"value", "true"}, {"why", "unknown"}},
                {{"gate", "NodeLocalFabricIPC"}, {"value", "true"}, {"why", "unsupported"}}}));
}

}  // namespace
}  // namespace api

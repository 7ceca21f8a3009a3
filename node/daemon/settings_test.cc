#include "node/daemon/settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv.

#include <map>

namespace imex_daemon {
namespace {

class DaemonSettings : public ::testing::Test {
 protected:
  ~DaemonSettings() override {
    for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_[name] = value;
  }
  // As the DaemonSet and the kubelet plugin set them.
  void SetAll() {
    Set("CLIQUE_ID", "f0e1.7");
    Set("COMPUTE_DOMAIN_UUID", "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a");
    Set("COMPUTE_DOMAIN_NAME", "train");
    Set("COMPUTE_DOMAIN_NAMESPACE", "team");
    Set("NODE_NAME", "node-a");
    Set("POD_IP", "10.0.0.7");
    Set("POD_UID", "pod-uid");
    Set("POD_NAME", "pod");
    Set("POD_NAMESPACE", "driver");
    Set("MAX_NODES_PER_IMEX_DOMAIN", "36");
    Set("LOG_VERBOSITY", "2");
  }
  // What `run` ends with; empty: it would run.
  static std::string Refused(std::vector<std::string> arguments = {"run"}) {
    const Parsed parsed = Parse(arguments);
    if (!parsed.exit) return "";
    EXPECT_EQ(parsed.exit->status, command_line::kMisused);
    return parsed.exit->text;
  }

 private:
  std::map<std::string, std::string> set_;
};

TEST_F(DaemonSettings, TakesItsPlaceFromTheVariablesThatTheReferenceUses) {
  SetAll();
  const Parsed parsed = Parse({"-v", "6", "run"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  const DaemonIdentity& self = parsed.settings.self;
  EXPECT_EQ(self.clique, "f0e1.7");
  EXPECT_EQ(
      self.CliqueKey(),
      (kube::ObjectKey{.ns = "driver", .name = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a.f0e1.7"}));
  EXPECT_EQ(self.node, "node-a");
  EXPECT_EQ(self.ip, "10.0.0.7");
  EXPECT_EQ(self.pod, (kube::ObjectKey{.ns = "driver", .name = "pod"}));
  EXPECT_EQ(self.pod_uid, "pod-uid");
  EXPECT_EQ(self.nodes_max, 36);
  EXPECT_EQ(parsed.settings.verbosity, 6);
  EXPECT_EQ(parsed.settings.domain_namespace, "team");
}

TEST_F(DaemonSettings, REV4_Y1_NamesAreTheDomainsIfTheDaemonSetSaysSo) {
  SetAll();
  EXPECT_EQ(Parse({"run"}).settings.self.Names().prefix, "compute-domain-daemon-");
  Set("IMEX_NODE_NAMES", "domain");
  EXPECT_EQ(Parse({"run"}).settings.self.Names().prefix,
            imex::PrefixOf("0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a"));
  Set("IMEX_NODE_NAMES", "mine");
  EXPECT_NE(Refused().find("mine not in {domain,shared}"), std::string::npos) << Refused();
}

TEST_F(DaemonSettings, FlagsHaveTheNamesOfTheReferencesAndComeBeforeVariables) {
  SetAll();
  const Parsed parsed =
      Parse({"--cliqueid", "c.1", "--pod-ip=::1", "--max-nodes-per-imex-domain", "4", "run"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  EXPECT_EQ(parsed.settings.self.clique, "c.1");
  EXPECT_EQ(parsed.settings.self.ip, "::1");
  EXPECT_EQ(parsed.settings.self.nodes_max, 4);
}

TEST_F(DaemonSettings, WithoutADomainItSaysThatTheClaimsEditsDidNotApply) {
  SetAll();
  Set("COMPUTE_DOMAIN_UUID", "");
  EXPECT_EQ(Refused(),
            "COMPUTE_DOMAIN_UUID is empty: the CDI edits of this pod's claim did not apply; switch "
            "CDI on in the node's container runtime, and see the log of its kubelet plugin\n");
}

TEST_F(DaemonSettings, WhatIsMissingOrCannotBeIsNamedWithWhoSetsIt) {
  SetAll();
  for (const char* name : {"NODE_NAME", "POD_NAME", "POD_NAMESPACE", "POD_UID", "POD_IP"}) {
    Set(name, "");
    EXPECT_NE(Refused().find(std::string(name) + " "), std::string::npos) << Refused();
    SetAll();
  }
  for (const char* bad : {"10.0.0", "10.0.0.7\n10.0.0.8 x", "host"}) {
    Set("POD_IP", bad);
    EXPECT_NE(Refused().find("is not an address"), std::string::npos) << bad;
  }
  SetAll();
  Set("CLIQUE_ID", "a/../b");
  EXPECT_NE(Refused().find("is not a label's value"), std::string::npos);
  SetAll();
  Set("MAX_NODES_PER_IMEX_DOMAIN", "10001");
  EXPECT_NE(Refused().find("10001"), std::string::npos);
}

TEST_F(DaemonSettings, REV3_N7_TakesWhatTheControllersConfigurationSaysOfImex) {
  SetAll();
  EXPECT_EQ(Parse({"run"}).settings.disconnected_grace, std::nullopt);
  EXPECT_FALSE(Parse({"run"}).settings.encrypts);
  Set("IMEX_NODE_DISCONNECTED_GRACE_TIME", "300");
  Set("IMEX_ENABLE_AUTH_ENCRYPTION", "1");
  Set("IMEX_KEYS_FOLDER", "/keys");
  const Parsed parsed = Parse({"run"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  EXPECT_EQ(parsed.settings.disconnected_grace, 300);
  EXPECT_TRUE(parsed.settings.encrypts);
  EXPECT_EQ(parsed.settings.keys_folder, "/keys");
  Set("IMEX_ENABLE_AUTH_ENCRYPTION", "0");
  EXPECT_FALSE(Parse({"run"}).settings.encrypts);
  Set("IMEX_NODE_DISCONNECTED_GRACE_TIME", "-2");
  EXPECT_NE(Refused().find("-2"), std::string::npos);
}

TEST_F(DaemonSettings, EachRefusalIsOneLine) {
  SetAll();
  Set("FEATURE_GATES", "A\nB=perhaps");
  const std::string text = Refused();
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

TEST_F(DaemonSettings, KlogsFlagsWithoutAnEffectAreTakenAndTold) {
  SetAll();
  const Parsed parsed = Parse({"--vmodule=a=1", "--log-flush-frequency", "5s", "run"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  EXPECT_EQ(parsed.settings.unused_flags,
            (std::vector<std::string>{"--vmodule", "--log-flush-frequency"}));
}

TEST_F(DaemonSettings, TakesAllGatesThatTheReferencesControllerSends) {
  SetAll();
  Set("FEATURE_GATES",
      "AllAlpha=false,AllBeta=false,ComputeDomainCliques=true,ConsumableShares=false,"
      "ContextualLogging=true,CrashOnNVLinkFabricErrors=true,DRAListTypeAttributes=false,"
      "DeviceMetadata=false,DynamicMIG=false,FabricManagerPartitioning=false,"
      "HostManagedIMEXDaemon=false,IMEXDaemonsWithDNSNames=true,LoggingAlphaOptions=false,"
      "LoggingBetaOptions=true,MPSSupport=false,NVMLDeviceHealthCheck=false,"
      "PassthroughSupport=false,TimeSlicingSettings=false,");
  EXPECT_EQ(Refused(), "");
}

TEST_F(DaemonSettings, GatesWithoutEffectAreIgnored) {
  SetAll();
  Set("FEATURE_GATES", "ComputeDomainCliques=false,HostManagedIMEXDaemon=true,NewThing=true");
  const Parsed parsed = Parse({"run"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  const api::IgnoredGates ignored = parsed.settings.feature_gates.Ignored(false);
  ASSERT_EQ(ignored.size(), 2U);
  EXPECT_EQ(ignored[0].Setting(), "NewThing=true");
  EXPECT_EQ(ignored[1].Setting(), "ComputeDomainCliques=false");
}

TEST_F(DaemonSettings, MalformedGateIsNamedWithItsFlag) {
  SetAll();
  Set("FEATURE_GATES", "ComputeDomainCliques");
  EXPECT_EQ(Refused(),
            "--feature-gates (FEATURE_GATES): feature gate \"ComputeDomainCliques\" must be "
            "ComputeDomainCliques=true or ComputeDomainCliques=false\n");
}

TEST_F(DaemonSettings, CheckNeedsNothingButTheClique) {
  EXPECT_FALSE(Parse({"-v", "0", "check"}).exit);
  EXPECT_EQ(Parse({"check"}).settings.command, Command::kCheck);
}

TEST_F(DaemonSettings, WithoutACommandItSaysWhichThereAre) {
  SetAll();
  EXPECT_TRUE(Refused({}).starts_with("A subcommand is required: run, check\n")) << Refused({});
  EXPECT_TRUE(Refused({"rnu"}).starts_with("rnu: unknown command; did you mean run?\n"));
}

TEST_F(DaemonSettings, HelpNamesEachExitStatus) {
  const Parsed parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.exit->status, 0);
  for (const command_line::ExitStatus& status : kExitStatuses) {
    EXPECT_NE(parsed.exit->text.find(status.meaning), std::string::npos);
  }
}

}  // namespace
}  // namespace imex_daemon

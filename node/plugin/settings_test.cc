#include "node/plugin/settings.h"

#include <gtest/gtest.h>

namespace plugin {
namespace {

Settings Good(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--node-name", "node-a"});
  const Parsed parsed = Parse(arguments);
  EXPECT_FALSE(parsed.exit) << parsed.exit->text;
  return parsed.settings;
}
std::string Wrong(std::vector<std::string> arguments) {
  const Parsed parsed = Parse(arguments);
  EXPECT_TRUE(parsed.exit);
  if (!parsed.exit) return {};
  EXPECT_EQ(parsed.exit->status, command_line::kMisused);
  return parsed.exit->text;
}
std::string WrongOnNode(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--node-name", "node-a"});
  return Wrong(arguments);
}
bool Names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PluginSettings, DefaultsAreThoseOfNvidias) {
  const Settings settings = Good({});
  EXPECT_EQ(settings.ns, "default");
  EXPECT_EQ(settings.cdi_folder, "/etc/cdi");
  EXPECT_EQ(settings.Folder(), "/var/lib/kubelet/plugins/compute-domain.nvidia.com");
  EXPECT_EQ(settings.registry_folder, "/var/lib/kubelet/plugins_registry");
  EXPECT_EQ(settings.driver_root, "/driver-root");
  EXPECT_EQ(settings.health_port, -1);
  EXPECT_EQ(settings.metrics_address, "");
  EXPECT_FALSE(settings.host_managed);
  EXPECT_FALSE(settings.partitions);
  EXPECT_TRUE(settings.crash_on_fabric_errors);
  EXPECT_EQ(settings.DevicesPath(), "/proc/devices");
  EXPECT_EQ(settings.CapabilityPath(), "/proc/driver/nvidia/capabilities/fabric-imex-mgmt");
}

TEST(PluginSettings, WhatNvidiasChartPassesIsTaken) {
  const Settings settings =
      Good({"-v", "4", "--namespace", "driver", "--cdi-root", "/var/run/cdi", "--healthcheck-port",
            "51515", "--http-endpoint", ":8081", "--feature-gates",
            "AllAlpha=false,CrashOnNVLinkFabricErrors=false,ComputeDomainCliques=true,"});
  EXPECT_EQ(settings.verbosity, 4);
  EXPECT_EQ(settings.health_port, 51515);
  EXPECT_EQ(settings.metrics_address, ":8081");
  EXPECT_FALSE(settings.crash_on_fabric_errors);
}

// Each variable that NVIDIA's chart, or a user of it, sets.
TEST(PluginSettings, C20_EnvironmentOfNvidiasChartIsTaken) {
  const std::vector<std::pair<const char*, const char*>> variables = {
      {"NODE_NAME", "node-b"},
      {"NAMESPACE", "nvidia"},
      {"HTTP_ENDPOINT", ":8081"},
      {"METRICS_PATH", "/m"},
      {"CDI_ROOT", "/var/run/cdi"},
      {"NVIDIA_DRIVER_ROOT", "/run/driver"},
      {"DRIVER_ROOT_CTR_PATH", "/root"},
      {"NVIDIA_CDI_HOOK_PATH", "/hook"},
      {"KUBELET_REGISTRAR_DIRECTORY_PATH", "/registry"},
      {"KUBELET_PLUGINS_DIRECTORY_PATH", "/plugins"},
      {"HEALTHCHECK_PORT", "51515"},
      {"GPU_CLIQUE_LABEL_ENABLED", "true"},
      {"IMEX_MODE", "driverManaged"},
      {"IMEX_ISOLATION", "domain"},
      {"IMEX_HOST_SOCKET_PATH", "/imex.sock"},
      {"KUBE_API_QPS", "5"},
      {"KUBE_API_BURST", "10"},
      {"FEATURE_GATES", "ComputeDomainCliques=true,DynamicMIG=false,"},
      {"LOG_VERBOSITY", "6"},
      {"ALT_PROC_DEVICES_PATH", "/alt-proc-devices"},
      {"NVIDIA_VISIBLE_DEVICES", "void"},
      {"NVIDIA_MIG_CONFIG_DEVICES", "all"},
      {"MASK_NVIDIA_DRIVER_PARAMS", ""}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  const Parsed parsed = Parse({"-v", "4"});
  for (const auto& [name, value] : variables) ::unsetenv(name);
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  const Settings& settings = parsed.settings;
  EXPECT_EQ(settings.node, "node-b");
  EXPECT_EQ(settings.ns, "nvidia");
  EXPECT_EQ(settings.metrics_address, ":8081");
  EXPECT_EQ(settings.metrics_path, "/m");
  EXPECT_EQ(settings.cdi_folder, "/var/run/cdi");
  EXPECT_EQ(settings.host_driver_root, "/run/driver");
  EXPECT_EQ(settings.driver_root, "/root");
  EXPECT_EQ(settings.hook, "/hook");
  EXPECT_EQ(settings.registry_folder, "/registry");
  EXPECT_EQ(settings.plugins_folder, "/plugins");
  EXPECT_EQ(settings.health_port, 51515);
  EXPECT_TRUE(settings.labels_clique);
  EXPECT_EQ(settings.imex_socket, "/imex.sock");
  EXPECT_EQ(settings.devices, "/alt-proc-devices");
  EXPECT_EQ(settings.verbosity, 4) << "the flag goes first";
}

TEST(PluginSettings, RootOfTheDriverHasTwoNamesAndThoseOfNowGoFirst) {
  for (const char* flag : {"--nvidia-driver-root", "--host-driver-root", "--host_driver-root"}) {
    EXPECT_EQ(Good({flag, "/run/driver"}).host_driver_root, "/run/driver") << flag;
  }
  ::setenv("HOST_DRIVER_ROOT", "/before", 1);
  EXPECT_EQ(Good({}).host_driver_root, "/before");
  EXPECT_EQ(Good({"--nvidia-driver-root", "/now"}).host_driver_root, "/now");
  ::unsetenv("HOST_DRIVER_ROOT");
}

TEST(PluginSettings, REV4_P7_FoldersOfLibraries_AreSeparatedByColons) {
  EXPECT_EQ(Good({"--nvidia-driver-library-paths", "/opt/lib:/usr/local/lib"}).library_folders,
            (std::vector<std::string>{"/opt/lib", "/usr/local/lib"}));
  EXPECT_TRUE(Names(WrongOnNode({"--nvidia-driver-library-paths", "/opt/lib:lib"}),
                    "--nvidia-driver-library-paths"));
}

TEST(PluginSettings, WithoutADriverTheCapabilityIsUnderItsRoot) {
  const Settings settings = Good({"--proc-devices", "/alt", "--container-driver-root", "/root"});
  EXPECT_EQ(settings.DevicesPath(), "/alt");
  EXPECT_EQ(settings.CapabilityPath(), "/root/proc/driver/nvidia/capabilities/fabric-imex-mgmt");
}

TEST(PluginSettings, TheHostsImexNeedsItsGate) {
  EXPECT_TRUE(Good({"--imex-mode", "hostManaged", "--feature-gates", "HostManagedIMEXDaemon=true"})
                  .host_managed);
  EXPECT_TRUE(Names(WrongOnNode({"--imex-mode", "hostManaged"}), "HostManagedIMEXDaemon=true"));
  EXPECT_TRUE(Names(WrongOnNode({"--imex-mode", "mine"}), "--imex-mode"));
  EXPECT_TRUE(Names(WrongOnNode({"--imex-isolation", "channel"}), "--imex-isolation"));
}

TEST(PluginSettings, KlogsFlagsWithoutAnEffectAreTakenAndTold) {
  EXPECT_EQ(Good({"--vmodule=a=1", "--log-flush-frequency", "5s"}).unused_flags,
            (std::vector<std::string>{"--vmodule", "--log-flush-frequency"}));
  EXPECT_TRUE(Names(WrongOnNode({"--vmodule", "a"}), "--vmodule \"a\""));
}

TEST(PluginSettings, WhatIsWrongIsSaidWithItsFlag) {
  EXPECT_TRUE(Names(Wrong({}), "--node-name"));
  EXPECT_TRUE(Names(Wrong({"--node-name", "../x"}), "--node-name \"../x\""));
  EXPECT_TRUE(Names(WrongOnNode({"--namespace", "A"}), "--namespace"));
  EXPECT_TRUE(Names(WrongOnNode({"--pod-uid", "../x"}), "--pod-uid"));
  EXPECT_TRUE(Names(WrongOnNode({"--http-endpoint", "99999"}), "--http-endpoint \"99999\""));
  EXPECT_TRUE(Names(WrongOnNode({"--node-nam", "b"}), "did you mean --node-name?"));
  EXPECT_TRUE(Names(WrongOnNode({"preflght"}), "did you mean preflight?"));
  EXPECT_TRUE(Names(WrongOnNode({"--cdi-root", "cdi"}), "--cdi-root"));
  EXPECT_TRUE(Names(WrongOnNode({"--healthcheck-port", "70000"}), "--healthcheck-port"));
  EXPECT_TRUE(Names(WrongOnNode({"--feature-gates", "ComputeDomainCliques"}),
                    "--feature-gates (FEATURE_GATES): feature gate \"ComputeDomainCliques\" must "
                    "be ComputeDomainCliques=true or"));
  EXPECT_TRUE(Names(WrongOnNode({"stray"}), "stray"));
}

TEST(PluginSettings, REV3_GateOfPartitionsIsServed) {
  EXPECT_TRUE(Good({"--feature-gates", "FabricManagerPartitioning=true"}).partitions);
}

TEST(PluginSettings, GatesWithoutEffectAreIgnored) {
  const auto ignored =
      Good({"--feature-gates", "ComputeDomainCliques=false,Later=true"}).IgnoredGates();
  ASSERT_EQ(ignored.size(), 2U);
  EXPECT_EQ(ignored[0].Setting(), "Later=true");
  EXPECT_EQ(ignored[1].Setting(), "ComputeDomainCliques=false");
  EXPECT_TRUE(Good({"--imex-mode", "hostManaged", "--feature-gates",
                    "HostManagedIMEXDaemon=true,ComputeDomainCliques=false"})
                  .IgnoredGates()
                  .empty())
      << "there are no daemons";
}

TEST(PluginSettings, REV3_N25_AllAlphaAndAllBetaSetWhatIsNotNamed) {
  EXPECT_TRUE(Good({"--feature-gates", "AllAlpha=true"}).partitions);
  EXPECT_FALSE(
      Good({"--feature-gates", "FabricManagerPartitioning=false,AllAlpha=true"}).partitions);
  EXPECT_FALSE(Good({"--feature-gates", "AllBeta=false"}).crash_on_fabric_errors);
}

TEST(PluginSettings, PreflightTakesWhatThePluginTakesBeforeItsNameOrBehind) {
  EXPECT_EQ(Good({}).command, Command::kServe);
  EXPECT_EQ(Good({"preflight"}).command, Command::kPreflight);
  const Settings settings = Good({"--cdi-root", "/cdi", "preflight", "--preflight-wait", "30"});
  EXPECT_EQ(settings.command, Command::kPreflight);
  EXPECT_EQ(settings.cdi_folder, "/cdi");
  EXPECT_EQ(settings.preflight_wait, 30);
  EXPECT_FALSE(settings.preflight_facts);
  EXPECT_FALSE(settings.keeps_privileges);
  EXPECT_TRUE(Good({"--keep-privileges=true"}).keeps_privileges);
  EXPECT_TRUE(Good({"preflight", "--preflight-facts=true"}).preflight_facts);
  EXPECT_TRUE(Names(WrongOnNode({"preflight", "--preflight-wait", "-1"}), "--preflight-wait"));
  EXPECT_TRUE(Names(Wrong({"preflight"}), "--node-name"));
  EXPECT_TRUE(Names(WrongOnNode({"inspect"}), "inspect"));
}

TEST(PluginSettings, HelpNamesEveryVariableOfNvidias) {
  const Parsed parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.exit->status, 0);
  for (const char* variable : {"NODE_NAME",
                               "NAMESPACE",
                               "HTTP_ENDPOINT",
                               "METRICS_PATH",
                               "CDI_ROOT",
                               "NVIDIA_DRIVER_ROOT",
                               "DRIVER_ROOT_CTR_PATH",
                               "NVIDIA_CDI_HOOK_PATH",
                               "KUBELET_REGISTRAR_DIRECTORY_PATH",
                               "KUBELET_PLUGINS_DIRECTORY_PATH",
                               "HEALTHCHECK_PORT",
                               "GPU_CLIQUE_LABEL_ENABLED",
                               "IMEX_MODE",
                               "IMEX_ISOLATION",
                               "IMEX_HOST_SOCKET_PATH",
                               "FEATURE_GATES",
                               "KUBE_API_QPS",
                               "KUBE_API_BURST",
                               "ALT_PROC_DEVICES_PATH",
                               "LOG_VERBOSITY",
                               "VMODULE",
                               "LOG_FLUSH_FREQUENCY"}) {
    EXPECT_TRUE(Names(parsed.exit->text, variable)) << variable;
  }
}

}  // namespace
}  // namespace plugin

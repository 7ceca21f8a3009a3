#include "node/gpu/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gpu {
namespace {

Settings Good(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--node-name", "node-a"});
  const Parsed parsed = Parse(arguments);
  EXPECT_FALSE(parsed.exit) << parsed.exit->text;
  return parsed.settings;
}
std::string Wrong(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--node-name", "node-a"});
  const Parsed parsed = Parse(arguments);
  EXPECT_TRUE(parsed.exit);
  if (!parsed.exit) return {};
  EXPECT_EQ(parsed.exit->status, command_line::kMisused);
  return parsed.exit->text;
}
bool Names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuSettings, Defaults_AreThoseOfNvidias) {
  const Settings settings = Good({});
  EXPECT_EQ(settings.command, Command::kServe);
  EXPECT_EQ(settings.Folder(), "/var/lib/kubelet/plugins/gpu.nvidia.com");
  EXPECT_EQ(settings.CapabilitiesPath(), "/proc/driver/nvidia/capabilities");
  EXPECT_EQ(settings.SysfsPath(), "/sys");
  EXPECT_FALSE(settings.publishes_numa_node);
  EXPECT_FALSE(settings.publishes_clique);
  EXPECT_EQ(settings.preflight_wait, 0);
}

TEST(GpuSettings, WithOtherDevices_AllIsUnderTheDriversRoot) {
  const Settings settings = Good({"--proc-devices", "/alt", "--container-driver-root", "/root"});
  EXPECT_EQ(settings.CapabilitiesPath(), "/root/proc/driver/nvidia/capabilities");
  EXPECT_EQ(settings.SysfsPath(), "/root/sys");
}

TEST(GpuSettings, Additions_AreChosen) {
  const Settings settings = Good({"--publish-numa-node=true", "--publish-clique=true"});
  EXPECT_TRUE(settings.publishes_numa_node);
  EXPECT_TRUE(settings.publishes_clique);
}

// Each variable that NVIDIA's chart, or a user of it, sets.
TEST(GpuSettings, EnvironmentOfNvidiasChart_IsTaken) {
  const std::vector<std::pair<const char*, const char*>> variables = {
      {"NODE_NAME", "node-b"},
      {"NAMESPACE", "nvidia"},
      {"CDI_ROOT", "/var/run/cdi"},
      {"NVIDIA_DRIVER_ROOT", "/run/driver"},
      {"DRIVER_ROOT_CTR_PATH", "/root"},
      {"NVIDIA_CDI_HOOK_PATH", "/hook"},
      {"KUBELET_REGISTRAR_DIRECTORY_PATH", "/registry"},
      {"KUBELET_PLUGINS_DIRECTORY_PATH", "/plugins"},
      {"HEALTHCHECK_PORT", "51516"},
      {"HTTP_ENDPOINT", ":8080"},
      {"IMAGE_NAME", "x"},
      {"IMAGE_PULL_POLICY", "Always"},
      {"IMAGE_PULL_SECRETS", "a,b"},
      {"SERVICE_ACCOUNT_NAME", "s"},
      {"HOST_ROOT", "/host"},
      {"ADDITIONAL_XIDS_TO_IGNORE", "1,2"},
      {"CONSUMABLE_SHARES", "disabled"},
      {"FEATURE_GATES", "DynamicMIG=false,Later=true,"},
      {"NVIDIA_MIG_CONFIG_DEVICES", "all"}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  const Parsed parsed = Parse({"-v", "4"});
  for (const auto& [name, value] : variables) ::unsetenv(name);
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  const Settings& settings = parsed.settings;
  EXPECT_EQ(settings.node, "node-b");
  EXPECT_EQ(settings.cdi_folder, "/var/run/cdi");
  EXPECT_EQ(settings.driver_root, "/root");
  EXPECT_EQ(settings.hook, "/hook");
  EXPECT_EQ(settings.Folder(), "/plugins/gpu.nvidia.com");
  EXPECT_EQ(settings.health_port, 51516);
  EXPECT_EQ(settings.metrics_address, ":8080");
}

TEST(GpuSettings, WhatIsWrong_IsSaidWithItsFlag) {
  EXPECT_TRUE(Names(Parse({}).exit->text, "--node-name"));
  EXPECT_TRUE(Names(Wrong({"--feature-gates", "A=maybe"}), "--feature-gates (FEATURE_GATES): "));
  EXPECT_TRUE(Names(Wrong({"--cdi-root", "cdi"}), "--cdi-root"));
  EXPECT_TRUE(Names(Wrong({"preflght"}), "did you mean preflight?"));
}

TEST(GpuSettings, Preflight_TakesWhatThePluginTakes) {
  const Settings settings = Good({"--cdi-root", "/cdi", "preflight", "--preflight-wait", "30"});
  EXPECT_EQ(settings.command, Command::kPreflight);
  EXPECT_EQ(settings.cdi_folder, "/cdi");
  EXPECT_EQ(settings.preflight_wait, 30);
  EXPECT_TRUE(Names(Wrong({"preflight", "--preflight-wait", "-1"}), "--preflight-wait"));
  EXPECT_TRUE(Names(Wrong({"preflight", "--preflight-wait", "3601"}), "--preflight-wait"));
}

TEST(GpuSettings, Help_NamesVariables) {
  const Parsed parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.exit->status, 0);
  for (const char* variable :
       {"NODE_NAME", "PUBLISH_NUMA_NODE", "PUBLISH_CLIQUE", "PREFLIGHT_WAIT", "FEATURE_GATES"}) {
    EXPECT_TRUE(Names(parsed.exit->text, variable)) << variable;
  }
}

}  // namespace
}  // namespace gpu

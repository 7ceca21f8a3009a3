#include "node/gpu/rules/claim_devices.h"

#include <gtest/gtest.h>

#include "node/gpu/rules/testing/node_and_claims.h"

namespace gpu {
namespace {

Wanted WantedOf(const std::vector<Given>& devices) { return ClaimOf("a", devices).wanted.value(); }

std::vector<std::string> PathsOf(const std::vector<cdi::DeviceNode>& nodes) {
  std::vector<std::string> paths;
  for (const cdi::DeviceNode& node : nodes) paths.push_back(node.path);
  return paths;
}

// R8: a runtime makes the files from these numbers.
TEST(DeviceNodes, R8_NumbersFollowFromTheDriver) {
  const std::vector<cdi::DeviceNode> nodes = ControlNodes({.gpus = 195, .uvm = 511}, true);
  EXPECT_EQ(PathsOf(nodes),
            (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                      "/dev/nvidia-modeset"}));
  EXPECT_EQ(nodes[0].major, 195);
  EXPECT_EQ(nodes[0].minor, 255);
  EXPECT_EQ(nodes[1].major, 511);
  EXPECT_EQ(nodes[1].minor, 0);
  EXPECT_EQ(nodes[2].major, 511);
  EXPECT_EQ(nodes[2].minor, 1);
  EXPECT_EQ(nodes[3].major, 195);
  EXPECT_EQ(nodes[3].minor, 254);
  EXPECT_EQ(ControlNodes({}, false).size(), 3U);
  EXPECT_EQ(NodeOf({.gpus = 195}, 7),
            (cdi::DeviceNode{
                .path = "/dev/nvidia7", .host_path = "/dev/nvidia7", .major = 195, .minor = 7}));
}

TEST(MissingOf, NamesTheFirstDeviceThatTheNodeLacks) {
  EXPECT_EQ(MissingOf(NodeA(), WantedOf({{"gpu-0"}, {kMigName}})), "");
  EXPECT_EQ(MissingOf(NodeA(), WantedOf({{"gpu-1"}, {"gpu-8"}, {"gpu-9"}})), "gpu-8");
}

TEST(GroupOf, GpuAndMigInstance_AreDescribedAsNvidiasDriverDoes) {
  const PreparedGroup group =
      GroupOf(NodeA(), "a", WantedOf({{"gpu-1"}, {.device = kMigName, .request = "s/small"}}));
  EXPECT_EQ(group.config_state, R"({"mpsControlDaemonID":""})");
  ASSERT_EQ(group.devices.size(), 2U);
  EXPECT_EQ(group.devices[0], (PreparedDevice{.type = "gpu",
                                              .info = R"({"uuid":"GPU-1"})",
                                              .requests = {"r"},
                                              .pool = "node-a",
                                              .name = "gpu-1",
                                              .cdi_ids = {"k8s.gpu.nvidia.com/claim=a-gpu-1"}}));
  EXPECT_EQ(
      group.devices[1],
      (PreparedDevice{
          .type = "mig",
          .info =
              R"({"parentMinor":2,"giId":9,"ciId":1,"migUUID":"MIG-3","parentUUID":"GPU-2","parentPCIBusID":"0000:02:00.0"})",
          .requests = {"s"},
          .pool = "node-a",
          .name = kMigName,
          .cdi_ids = {"k8s.gpu.nvidia.com/claim=a-gpu-2-mig-1g10gb-19-3"}}));
}

TEST(SpecOf, EachDevice_HasItsNodesAndTheDriversFiles) {
  const GpuNode node = NodeA();
  const cdi::Spec spec = SpecOf(node, "a", WantedOf({{"gpu-1"}, {kMigName}}));
  EXPECT_EQ(spec.kind, "k8s.gpu.nvidia.com/claim");
  EXPECT_EQ(spec.edits, node.common);
  ASSERT_EQ(spec.devices.size(), 2U);
  EXPECT_EQ(spec.devices[0].name, "a-gpu-1");
  EXPECT_EQ(PathsOf(spec.devices[0].edits.nodes), std::vector<std::string>{"/dev/nvidia1"});
  EXPECT_EQ(spec.devices[1].name, "a-gpu-2-mig-1g10gb-19-3");
  EXPECT_EQ(PathsOf(spec.devices[1].edits.nodes),
            (std::vector<std::string>{"/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap30",
                                      "/dev/nvidia-caps/nvidia-cap31"}));
  EXPECT_EQ(cdi::Parse(cdi::Render(spec), "x"), spec);
}

TEST(SpecOf, R2_DeviceTwiceInAClaim_IsOnceInTheSpec) {
  const Wanted wanted = WantedOf({{.device = "gpu-0", .request = "x"},
                                  {.device = "gpu-0", .request = "y", .admin_access = true},
                                  {"gpu-1"}});
  EXPECT_EQ(SpecOf(NodeA(), "a", wanted).devices.size(), 2U);
}

TEST(IsOutdated, SpecOfTheDriverThatIsLoaded_IsNot) {
  const GpuNode node = NodeA();
  EXPECT_FALSE(IsOutdated(node, SpecOf(node, "a", WantedOf({{"gpu-0"}, {kMigName}}))));
  EXPECT_FALSE(IsOutdated(node, {}));
}

TEST(IsOutdated, SpecWithLibrariesOfAnotherVersion_Is) {
  GpuNode node = NodeA();
  const cdi::Spec spec = SpecOf(node, "a", WantedOf({{"gpu-0"}}));
  node.driver_version = "580.95.06";
  EXPECT_TRUE(IsOutdated(node, spec));
}

TEST(IsOutdated, SpecWithAnotherNumberOfADevice_Is) {
  GpuNode node = NodeA();
  cdi::Spec spec = SpecOf(node, "a", WantedOf({{"gpu-0"}}));
  spec.edits.mounts.insert(spec.edits.mounts.begin(), {.host_path = "/etc/x"});
  node.numbers.uvm = 510;
  EXPECT_TRUE(IsOutdated(node, spec));
  // NVIDIA's driver leaves numbers to the runtime.
  for (cdi::DeviceNode& theirs : spec.edits.nodes) theirs.major = 0;
  EXPECT_FALSE(IsOutdated(node, spec));
}

// The number of nvidia-caps is another one each time that the module is loaded.
TEST(IsOutdated, SpecWithAnotherNumberOfACapability_Is) {
  GpuNode node = NodeA();
  const cdi::Spec spec = SpecOf(node, "a", WantedOf({{kMigName}}));
  node.further_nodes[kMigName] = {CapabilityOf(30, 237), CapabilityOf(31, 237)};
  EXPECT_TRUE(IsOutdated(node, spec));
}

}  // namespace
}  // namespace gpu

#include "node/gpu/rules/garbage.h"

#include <gtest/gtest.h>

#include "node/gpu/rules/testing/node_and_claims.h"

namespace gpu {
namespace {

TEST(GpuGarbage, R12_SpecOfNoClaimInTheCheckpoint_IsRemoved) {
  Checkpoint checkpoint;
  checkpoint.claims["started"] = {.name = "c", .ns = "ns"};
  checkpoint.claims["completed"] = {.state = ClaimState::kCompleted};
  const GarbagePlan plan = FindGarbage(checkpoint, {"completed", "orphan", "started"});
  EXPECT_EQ(plan.remove_specs, std::vector<std::string>{"orphan"});
}

TEST(GpuGarbage, ClaimsWithAName_AreLookedUp) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = {.name = "c", .ns = "ns"};
  checkpoint.claims["b"] = {.state = ClaimState::kCompleted};  // NVIDIA's driver prepared it.
  EXPECT_EQ(FindGarbage(checkpoint, {}).look_up,
            (std::vector<kubelet::ClaimName>{{.ns = "ns", .uid = "a", .name = "c"}}));
}

TEST(GpuRebuild, ClaimWithASpec_IsPrepared) {
  const GpuNode node = NodeA();
  const ClaimToPrepare claim = ClaimOf("a", {{"gpu-0"}});
  const Checkpoint rebuilt =
      Rebuild(node, "boot", {claim, ClaimOf("without-spec", {{"gpu-1"}})}, {"a", "orphan"});
  EXPECT_EQ(rebuilt.boot_id, "boot");
  ASSERT_EQ(rebuilt.claims.size(), 1U);
  const CheckpointClaim& entry = rebuilt.claims.at("a");
  EXPECT_EQ(entry.state, ClaimState::kCompleted);
  EXPECT_EQ(entry.groups, std::vector{GroupOf(node, "a", *claim.wanted)});
  EXPECT_EQ(entry.name, "c-a");
  EXPECT_EQ(entry.ns, "ns");
  EXPECT_EQ(entry.status, claim.status);
}

TEST(GpuRebuild, ClaimThatIsNotOfThisNode_IsLeftOut) {
  ClaimToPrepare free = ClaimOf("free", {{"gpu-0"}});
  free.is_allocated = false;
  const std::vector<ClaimToPrepare> claims = {
      free, ClaimOf("unknown", {{"nic-0"}}),
      ClaimOf("elsewhere", {{.device = "gpu-0", .pool = "node-b"}})};
  EXPECT_TRUE(Rebuild(NodeA(), "boot", claims, {"elsewhere", "free", "unknown"}).claims.empty());
}

TEST(GpuRebuild, R6_ClaimOfALostGpu_IsStarted) {
  GpuNode node = NodeA();
  node.inventory.devices.clear();
  const Checkpoint rebuilt = Rebuild(node, "boot", {ClaimOf("a", {{"gpu-0"}})}, {"a"});
  EXPECT_EQ(rebuilt.claims.at("a").state, ClaimState::kStarted);
  EXPECT_TRUE(rebuilt.claims.at("a").groups.empty());
}

// Its spec would be garbage, and its containers could not start again.
TEST(GpuRebuild, ClaimThatThisDriverWouldRefuse_KeepsItsSpec) {
  const ClaimToPrepare shared = ClaimOf(
      "a", {{"gpu-0"}},
      ConfigJson(
          R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"MPS"}})"));
  ASSERT_FALSE(shared.wanted);
  const Checkpoint rebuilt = Rebuild(NodeA(), "boot", {shared}, {"a"});
  ASSERT_TRUE(rebuilt.claims.contains("a"));
  EXPECT_EQ(rebuilt.claims.at("a").state, ClaimState::kCompleted);
  EXPECT_TRUE(FindGarbage(rebuilt, {"a"}).remove_specs.empty());
}

}  // namespace
}  // namespace gpu

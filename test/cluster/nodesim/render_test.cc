#include "test/cluster/nodesim/render.h"

#include <gtest/gtest.h>

#include <string>

#include "test/cluster/nodesim/names.h"

namespace nodesim {
namespace {

NodeState SomeNode() {
  NodeState node;
  node.identity = {.index = 3, .name = "node-003", .host_ip = "172.16.0.4", .machine_id = "m"};
  node.clique_id = "fabric.1";
  node.boot_id = "boot";
  return node;
}

WritePodStatus SomeStatus(const PodStatus& status) {
  auto pod = std::make_shared<Pod>();
  pod->meta.key = {.ns = "default", .name = "p"};
  pod->meta.uid = "pod-uid";
  pod->containers = {{.name = "a", .image = "i"}, {.name = "b", .image = "j"}};
  return {.pod = pod, .status = status, .started = WallTime(std::chrono::hours(1))};
}

// The status of the condition `type`, or "" without one.
std::string ConditionOf(const json::Value& conditions, std::string_view type) {
  for (const json::Value& condition : conditions.items()) {
    if (condition["type"].AsString() == type) return condition["status"].AsString();
  }
  return "";
}

TEST(RenderNode, NodeIsAsLargeAsRealOnes) {
  const std::size_t size = json::Serialize(RenderNode(SomeNode(), WallTime())).size();
  EXPECT_GT(size, 8'000U);
  EXPECT_LT(size, 14'000U);
}

TEST(RenderNode, NodeCarriesItsCliqueAndWhatTheLifecycleControllerNeeds) {
  const json::Value node = RenderNode(SomeNode(), WallTime());
  EXPECT_EQ(node["metadata"]["labels"][kGpuCliqueLabel].AsString(), "fabric.1");
  EXPECT_EQ(node["metadata"]["labels"]["kubernetes.io/hostname"].AsString(), "node-003");
  EXPECT_EQ(node["status"]["allocatable"]["pods"].AsString(), "110");
  EXPECT_EQ(node["status"]["nodeInfo"]["bootID"].AsString(), "boot");
  EXPECT_EQ(ConditionOf(node["status"]["conditions"], "Ready"), "True");
  EXPECT_EQ(node["status"]["images"].items().size(), 50U);
}

TEST(RenderNode, NodeWithoutFabricHasNoCliqueLabel) {
  NodeState node = SomeNode();
  node.clique_id = "";
  EXPECT_EQ(RenderNode(node, WallTime())["metadata"]["labels"].Find(kGpuCliqueLabel), nullptr);
  const json::Value patch = RenderNodeLabelsPatch(node, "7");
  const json::Value* label = patch["metadata"]["labels"].Find(kGpuCliqueLabel);
  ASSERT_NE(label, nullptr);
  EXPECT_TRUE(label->IsNull()) << "an earlier one is taken away";
}

TEST(RenderNode, HeartbeatLeavesTransitionTimesAsTheyAre) {
  const json::Value patch = RenderNodeStatusPatch(SomeNode(), {}, WallTime());
  const json::Value& condition = patch["status"]["conditions"].items().front();
  EXPECT_NE(condition.Find("lastHeartbeatTime"), nullptr);
  EXPECT_EQ(condition.Find("lastTransitionTime"), nullptr);
  EXPECT_EQ(patch["status"].Find("images"), nullptr) << "only what changes";
}

TEST(RenderSlice, SliceIsThatOfTheContract) {
  EXPECT_EQ(
      json::Serialize(RenderSlice("node-003", {.node = "node-uid"})),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"generateName":)"
      R"("00000-compute-domain.nvidia.com-node-003-","ownerReferences":[{"apiVersion":"v1","kind":)"
      R"("Node","name":"node-003","uid":"node-uid","controller":true}]},"spec":{"driver":)"
      R"("compute-domain.nvidia.com","nodeName":"node-003","pool":{"name":"node-003","generation":1,)"
      R"("resourceSliceCount":1},"devices":[{"name":"channel-0","attributes":{"type":{"string":)"
      R"("channel"},"id":{"int":0}}},{"name":"daemon-0","attributes":{"type":{"string":"daemon"},)"
      R"("id":{"int":0}}}]}})");
}

TEST(RenderSlice, F5_GpusAreOfTheirOwnDriver) {
  const json::Value slice = RenderSlice("node-003", {.node = "node-uid", .gpus = 2});
  EXPECT_EQ(slice["spec"]["driver"].AsString(), "gpu.nvidia.com");
  EXPECT_EQ(json::Serialize(slice["spec"]["devices"].items()[1]),
            R"({"name":"gpu-1","attributes":{"type":{"string":"gpu"},"productName":{"string":)"
            R"("NVIDIA GB200"},"uuid":{"string":"GPU-node-003-1"}}})");
  EXPECT_EQ(slice["spec"]["devices"].items().size(), 2U);
}

TEST(RenderLease, NewLeaseHasNoVersionAndIsOwnedByItsNode) {
  const json::Value lease = RenderLease("node-003", "node-uid", "", WallTime());
  EXPECT_EQ(lease["metadata"].Find("resourceVersion"), nullptr);
  EXPECT_EQ(lease["metadata"]["ownerReferences"].items()[0]["uid"].AsString(), "node-uid");
  EXPECT_EQ(lease["spec"]["holderIdentity"].AsString(), "node-003");
  EXPECT_EQ(RenderLease("n", "u", "7", WallTime())["metadata"]["resourceVersion"].AsString(), "7");
}

TEST(RenderPodStatus, StatusIsForThatPodOnly) {
  const json::Value patch = RenderPodStatusPatch(SomeStatus({.phase = "Running"}), "172.16.0.4");
  EXPECT_EQ(patch["metadata"]["uid"].AsString(), "pod-uid");
}

TEST(RenderPodStatus, AddressTakesThePlaceOfTheOneBefore) {
  const json::Value with = RenderPodStatusPatch(
      SomeStatus({.phase = "Running", .pod_ip = "10.0.0.1"}), "172.16.0.4")["status"];
  EXPECT_EQ(with["podIP"].AsString(), "10.0.0.1");
  EXPECT_EQ(with["podIPs"].items()[0]["ip"].AsString(), "10.0.0.1");
  EXPECT_EQ(with["podIPs"].items()[1]["$patch"].AsString(), "replace");
  const json::Value without =
      RenderPodStatusPatch(SomeStatus({.phase = "Running"}), "172.16.0.4")["status"];
  ASSERT_NE(without.Find("podIP"), nullptr);
  EXPECT_TRUE(without["podIP"].IsNull());
  EXPECT_TRUE(without["podIPs"].IsNull());
}

TEST(RenderPodStatus, EveryContainerIsToldOf) {
  const json::Value status = RenderPodStatusPatch(SomeStatus({.phase = "Running",
                                                              .initialized = true,
                                                              .ready = true,
                                                              .containers = Containers::kRunning,
                                                              .restarts = 2}),
                                                  "172.16.0.4")["status"];
  ASSERT_EQ(status["containerStatuses"].items().size(), 2U);
  for (const json::Value& container : status["containerStatuses"].items()) {
    EXPECT_TRUE(container["ready"].AsBool());
    EXPECT_EQ(container["restartCount"].AsInt(), 2);
    EXPECT_NE(container["state"].Find("running"), nullptr);
  }
  EXPECT_EQ(ConditionOf(status["conditions"], "Ready"), "True");
  EXPECT_EQ(ConditionOf(status["conditions"], "ContainersReady"), "True");
  EXPECT_EQ(ConditionOf(status["conditions"], "PodScheduled"), "True") << "nobody said it before";
}

TEST(RenderPodStatus, SchedulersWordIsNotRepeated) {
  WritePodStatus action = SomeStatus({.phase = "Running"});
  auto pod = std::make_shared<Pod>(*action.pod);
  pod->scheduled = true;
  action.pod = pod;
  EXPECT_EQ(ConditionOf(RenderPodStatusPatch(action, "x")["status"]["conditions"], "PodScheduled"),
            "");
}

TEST(RenderPodStatus, EndHasItsExitCode) {
  const json::Value status = RenderPodStatusPatch(
      SomeStatus({.phase = "Failed", .containers = Containers::kTerminated, .exit_code = 137}),
      "x")["status"];
  const json::Value& state = status["containerStatuses"].items()[0]["state"]["terminated"];
  EXPECT_EQ(state["exitCode"].AsInt(), 137);
  EXPECT_EQ(state["reason"].AsString(), "Error");
}

TEST(RenderClique, OwnersKeepWhetherTheyBlock) {
  Clique clique;
  clique.meta.key = {.ns = "n", .name = "d.c"};
  clique.owners = {
      {.reference = {.api_version = "apps/v1", .kind = "DaemonSet", .controller = true},
       .block_owner_deletion = false},
      {.reference = {.api_version = "v1", .kind = "Pod"}}};
  const json::Value rendered = RenderClique(clique);
  const auto& owners = rendered["metadata"]["ownerReferences"].items();
  EXPECT_TRUE(owners[0]["controller"].AsBool());
  EXPECT_NE(owners[0].Find("blockOwnerDeletion"), nullptr);
  EXPECT_EQ(owners[1].Find("blockOwnerDeletion"), nullptr);
  EXPECT_EQ(owners[1].Find("controller"), nullptr);
}

TEST(DeletePodRequest, DeleteIsFinalAndOnlyForThatIncarnation) {
  const http::Request request =
      DeletePodRequest({.key = {.ns = "default", .name = "p"}, .uid = "pod-uid"});
  EXPECT_EQ(request.path, "/api/v1/namespaces/default/pods/p");
  EXPECT_EQ(request.body, R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,)"
                          R"("preconditions":{"uid":"pod-uid"}})");
}

}  // namespace
}  // namespace nodesim

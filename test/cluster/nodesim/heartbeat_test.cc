#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/test_world.h"

namespace nodesim {
namespace {

using Log = std::vector<std::string>;
using std::chrono::seconds;

TEST(Heartbeat, NewNodeIsCreatedWithItsSliceAndIsSetUpThen) {
  TestWorld world;
  world.Settle();
  EXPECT_EQ(world.log, (Log{"create Node", "create ResourceSlice"}));
  EXPECT_TRUE(world.state.lease.renewed);
  world.Turn();
  EXPECT_TRUE(world.state.set_up);
}

TEST(Heartbeat, NodeThatIsThereAlreadyGetsOurLabelsAndStatus) {
  TestWorld world;
  world.node = Node{.meta = {.key = {.name = kNodeName}, .uid = "n", .resource_version = "5"}};
  world.Settle();
  EXPECT_EQ(world.node->clique, kCliqueId);
  EXPECT_TRUE(world.node->gpu_present);
  EXPECT_EQ(world.node->ready, "True");
  EXPECT_FALSE(world.node->created_by_simulator);
}

TEST(Heartbeat, NodeThatSomebodyDeletesIsCreatedAgainOnlyByAStart) {
  TestWorld world;
  world.Settle();
  world.node.reset();
  world.log.clear();
  world.Run(seconds(600));
  EXPECT_TRUE(world.log.empty());
  Revive(world.state);
  world.Settle();
  EXPECT_TRUE(world.node.has_value());
}

TEST(Heartbeat, NodeThatIsNotReadySaysThatItIs) {
  TestWorld world;
  world.Settle();
  world.node->ready = "Unknown";
  world.Touch(*world.node);
  world.log.clear();
  world.Settle();
  EXPECT_EQ(world.log, (Log{"write Node status"}));
}

TEST(Heartbeat, StatusIsWrittenOnceInEachPeriod) {
  TestWorld world;
  world.Settle();
  world.log.clear();
  world.Run(world.settings.status_period * 3);
  EXPECT_EQ(world.log, Log(3, "write Node status"));
}

TEST(Heartbeat, LeasesOfAThousandNodesAreSpreadEvenly) {
  constexpr int kNodes = 1'000;
  constexpr milliseconds kPeriod{10'000};
  SeededRandom random(1);
  std::map<int, int> in_second;
  for (int i = 0; i < kNodes; ++i) {
    NodeState node;
    node.identity.index = i;
    const Settings settings = {.nodes = kNodes, .lease_period = kPeriod};
    const TimePoint now{std::chrono::hours(5)};
    Note(node, CreateLease(), Written{.version = "1"}, settings, now, random);
    const auto wait = node.lease.due - now;
    EXPECT_GT(wait, seconds(0));
    EXPECT_LE(wait, kPeriod);
    ++in_second[static_cast<int>((wait - milliseconds(1)) / seconds(1))];
  }
  for (const auto& [second, count] : in_second) EXPECT_NEAR(count, 100, 1) << second;
}

TEST(Heartbeat, LeaseIsReadAgainAfterAConflictAndCreatedWhereThereIsNone) {
  SeededRandom random(1);
  NodeState node;
  const auto note = [&](const Action& action, const base::Result<Written>& outcome) {
    Note(node, action, outcome, Settings(), TimePoint(), random);
    return node.lease.step;
  };
  using Step = LeaseState::Step;
  EXPECT_EQ(note(CreateLease(), base::Fail(base::ErrorCode::kAlreadyExists, "")), Step::kRead);
  EXPECT_EQ(note(ReadLease(), Written{.version = "4"}), Step::kUpdate);
  EXPECT_EQ(node.lease.version, "4");
  EXPECT_EQ(note(UpdateLease(), Written{.version = "5"}), Step::kUpdate);
  EXPECT_EQ(note(UpdateLease(), base::Fail(base::ErrorCode::kConflict, "")), Step::kRead);
  EXPECT_EQ(note(ReadLease(), base::Fail(base::ErrorCode::kNotFound, "")), Step::kCreate);
}

TEST(Heartbeat, DeadNodeHasNoPulse) {
  TestWorld world;
  world.Settle();
  world.now += seconds(60);
  EXPECT_TRUE(Beat(world.state, world, world.now).has_value());
  world.state.alive = false;
  EXPECT_FALSE(Beat(world.state, world, world.now).has_value());
}

TEST(Heartbeat, TaintOfTheLifecycleControllerIsLeftToItForAWhile) {
  TestWorld world;
  world.Settle();
  const Taint own = {.key = "nvidia.com/gpu", .effect = "NoSchedule"};
  world.node->taints = {own, {.key = "node.kubernetes.io/unreachable", .effect = "NoExecute"}};
  world.Touch(*world.node);
  world.Run(world.settings.taint_patience - milliseconds(1));
  EXPECT_EQ(world.node->taints.size(), 2U);
  world.Run(milliseconds(1));
  EXPECT_EQ(world.node->taints, std::vector<Taint>{own}) << "others' taints stay";
}

TEST(Heartbeat, NodeIsNotSetUpWhileItIsTaintedAsNotReady) {
  TestWorld world;
  world.node = Node{.meta = {.key = {.name = kNodeName}, .uid = "n", .resource_version = "5"}};
  world.node->taints = {{.key = "node.kubernetes.io/not-ready", .effect = "NoSchedule"}};
  world.Run(seconds(10));
  EXPECT_FALSE(world.state.set_up);
  world.node->taints.clear();
  world.Touch(*world.node);
  world.Settle();
  EXPECT_TRUE(world.state.set_up);
}

TEST(Heartbeat, SliceOfADeletedNodeIsReplaced) {
  TestWorld world;
  world.Settle();
  world.slices.begin()->second.meta.owners[0].uid = "the Node of before";
  world.Run(seconds(10));
  ASSERT_EQ(world.slices.size(), 1U);
  EXPECT_EQ(world.slices.begin()->second.meta.owners[0].uid, world.node->meta.uid);
}

TEST(Heartbeat, SecondSliceIsRemoved) {
  TestWorld world;
  world.Settle();
  Slice copy = world.slices.begin()->second;
  copy.meta.key.name = "zz-second";
  copy.meta.uid = "zz-second";
  world.slices["zz-second"] = copy;
  world.Run(seconds(10));
  EXPECT_EQ(world.slices.size(), 1U);
  EXPECT_FALSE(world.slices.contains("zz-second"));
}

TEST(Heartbeat, SliceIsPublishedAnewAfterAReboot) {
  TestWorld world;
  world.Settle();
  const std::string before = world.slices.begin()->first;
  Reboot(world.state, "boot-2", WallTime());
  world.Run(seconds(10));
  ASSERT_EQ(world.slices.size(), 1U);
  EXPECT_NE(world.slices.begin()->first, before);
}

TEST(Heartbeat, SliceGoesWithThePluginAndComesWithIt) {
  TestWorld world;
  world.Settle();
  world.state.plugin_stopped = true;
  world.Run(seconds(10));
  EXPECT_TRUE(world.slices.empty());
  world.state.plugin_stopped = false;
  world.Run(seconds(10));
  EXPECT_EQ(world.slices.size(), 1U);
}

TEST(Heartbeat, F5_GpusHaveASliceOfTheirOwnThatStaysWithoutThePlugin) {
  TestWorld world;
  world.settings.gpus = 4;
  world.Settle();
  EXPECT_TRUE(world.state.set_up);
  EXPECT_EQ(world.slices.size(), 2U);
  world.state.plugin_stopped = true;
  world.Run(seconds(10));
  ASSERT_EQ(world.slices.size(), 1U);
  EXPECT_EQ(world.slices.begin()->second.driver, kGpuDriver);
  EXPECT_EQ(world.slices.begin()->second.devices.size(), 4U);
  world.state.plugin_stopped = false;
  world.Run(seconds(10));
  EXPECT_EQ(world.slices.size(), 2U);
}

TEST(Heartbeat, SliceOfAnotherDriverIsLeftAlone) {
  TestWorld world;
  world.slices["other"] = {.meta = {.key = {.name = "other"}, .uid = "other"},
                           .driver = "net.example.com",
                           .node = kNodeName,
                           .devices = {"nic-0"}};
  world.Settle();
  world.Run(seconds(10));
  EXPECT_TRUE(world.slices.contains("other"));
}

TEST(Heartbeat, NothingIsWrittenByANodeAtRest) {
  TestWorld world;
  world.Settle();
  world.log.clear();
  world.Run(seconds(60));
  EXPECT_TRUE(world.log.empty()) << world.log.front();
}

}  // namespace
}  // namespace nodesim

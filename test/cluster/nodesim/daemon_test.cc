#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/test_world.h"

namespace nodesim {
namespace {

using std::chrono::seconds;

const std::string kCliqueName = std::string(kDomainUid) + "." + kCliqueId;

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    world_.settings.imex_reports = true;
    world_.AddDomain("default");
    world_.Settle();
    world_.log.clear();
  }

  // What the controller does where it writes membership.
  void WriteEntry(const std::string& ip, std::optional<int> index) {
    Clique& clique = world_.cliques[kCliqueName];
    clique.meta.key = {.ns = world_.settings.driver_namespace, .name = kCliqueName};
    clique.meta.resource_version = "500";
    clique.daemons = {{.node = kNodeName,
                       .ip = ip,
                       .clique_id = kCliqueId,
                       .index = index,
                       .status = "NotReady"}};
  }
  // Entries of other nodes, with these indices.
  void AddOthers(const std::vector<int>& indices) {
    WriteEntry("", 0);
    Clique& clique = world_.GetTheClique();
    clique.daemons.clear();
    for (const int index : indices) {
      const std::string number = std::to_string(index);
      clique.daemons.push_back({.node = "other-" + number,
                                .ip = "10.1.0." + number,
                                .clique_id = kCliqueId,
                                .index = index,
                                .status = "Ready"});
    }
  }
  bool Wrote(const std::string& what) {
    return std::ranges::any_of(
        world_.log, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }
  bool IsReady(const std::string& pod) { return world_.GetPod(pod).status.ready; }

  TestWorld world_;
};

// ---- The controller writes the clique.

TEST_F(DaemonTest, DaemonOfOursLabelsItsPodAndWritesNothingElse) {
  world_.AddDaemon("d", true);
  world_.Run(seconds(60));
  EXPECT_EQ(world_.GetPod("d").clique_label, kCliqueId);
  EXPECT_FALSE(Wrote("clique " + kCliqueName));
  EXPECT_TRUE(world_.cliques.empty());
  EXPECT_FALSE(IsReady("d")) << "nobody gave it a place";
}

TEST_F(DaemonTest, DaemonOfOursIsReadyOnceItHasAPlaceWithItsAddress) {
  world_.AddDaemon("d", true);
  world_.Settle();
  const std::string ip = world_.GetPod("d").status.pod_ip;

  WriteEntry("10.200.0.1", 0);
  world_.Run(seconds(10));
  EXPECT_FALSE(IsReady("d")) << "the entry is that of the pod before";

  WriteEntry(ip, std::nullopt);
  world_.Run(seconds(10));
  EXPECT_FALSE(IsReady("d")) << "the entry has no index yet";

  WriteEntry(ip, 0);
  world_.Run(world_.settings.daemon_delay - milliseconds(1));
  EXPECT_FALSE(IsReady("d"));
  world_.Run(milliseconds(1));
  EXPECT_TRUE(IsReady("d"));
}

TEST_F(DaemonTest, DaemonOfOursWaitsForWhoIsOnTheWayIntoItsClique) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.GetTheClique().annotations["cdom.dev/joining"] = "1";
  world_.Run(seconds(1));
  EXPECT_FALSE(IsReady("d"));
  world_.GetTheClique().annotations["cdom.dev/joining"] = "0";
  world_.Run(milliseconds(1));
  EXPECT_TRUE(IsReady("d"));
}

TEST_F(DaemonTest, DaemonOfOursStaysReadyWithoutItsEntry) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(1));
  world_.cliques.clear();
  world_.Run(seconds(60));
  EXPECT_TRUE(IsReady("d"));
}

TEST_F(DaemonTest, DaemonOfOursTakesNothingOutOfTheClique) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(1));
  world_.DeletePod("d");
  world_.Run(seconds(1));
  EXPECT_FALSE(world_.pods.contains("d"));
  EXPECT_NE(world_.Entry(), nullptr);
}

TEST_F(DaemonTest, DaemonOfOursReportsWhatItsImexRunsWithWhateverTheCliqueSaysLater) {
  world_.AddDaemon("d", true);
  world_.Settle();
  const std::string ip = world_.GetPod("d").status.pod_ip;
  WriteEntry(ip, 3);
  world_.Run(seconds(1));
  ASSERT_TRUE(world_.GetPod("d").imex);
  EXPECT_EQ(world_.GetPod("d").imex->index, 3);
  EXPECT_EQ(world_.GetPod("d").imex->state, "READY");
  const std::string started = world_.GetPod("d").imex->started;
  WriteEntry(ip, 5);
  world_.Run(seconds(60));
  EXPECT_EQ(world_.GetPod("d").imex->index, 3);
  EXPECT_EQ(world_.GetPod("d").imex->started, started);
  EXPECT_EQ(world_.GetPod("d").imex->unreachable_count, 0);
}

TEST_F(DaemonTest, DaemonOfOursIsQuietOnceItHasReported) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(60));
  EXPECT_TRUE(Wrote("report IMEX of pod"));
  world_.log.clear();
  world_.Run(seconds(240));
  EXPECT_FALSE(Wrote("pod"));
}

TEST_F(DaemonTest, DaemonOfOursIsTakenOverWithItsImexWhenTheSimulatorIsRestarted) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 3);
  world_.Run(seconds(60));
  const auto before = world_.GetPod("d").imex;
  world_.state.pods.clear();
  world_.state.claims.clear();
  world_.state.adopt = true;
  world_.log.clear();
  world_.Run(seconds(60));
  EXPECT_TRUE(IsReady("d"));
  EXPECT_FALSE(Wrote("report IMEX"));
  EXPECT_EQ(world_.GetPod("d").imex, before);
}

TEST_F(DaemonTest, DaemonOfOursThatMayNotLabelItsPodEndsAndIsStartedAgain) {
  world_.AddDaemon("d", true);
  world_.fault = [](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<LabelPod>(action)) return std::nullopt;
    return TestWorld::Fault{.code = base::ErrorCode::kForbidden};
  };
  world_.Run(seconds(5));
  EXPECT_FALSE(world_.GetPod("d").clique_label);
  EXPECT_GE(world_.GetPod("d").status.restarts, 3);
  world_.fault = nullptr;
  world_.Run(seconds(5));
  EXPECT_EQ(world_.GetPod("d").clique_label, kCliqueId);
}

TEST_F(DaemonTest, StalledDaemonOfOursDoesNotSayThatItsImexIsReady) {
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(1));
  world_.state.daemons_stalled = true;
  world_.Run(seconds(60));
  EXPECT_FALSE(IsReady("d"));
  EXPECT_EQ(world_.GetPod("d").imex->state, "UNKNOWN");
  EXPECT_EQ(world_.GetPod("d").imex->restarts, 0);
}

TEST_F(DaemonTest, DaemonOfOursReportsOnlyWhereItIsAskedTo) {
  world_.settings.imex_reports = false;
  world_.AddDaemon("d", true);
  world_.Settle();
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(60));
  EXPECT_TRUE(IsReady("d"));
  EXPECT_FALSE(Wrote("report IMEX"));
}

TEST_F(DaemonTest, DaemonOfNvidiasReportsNothing) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(60));
  EXPECT_TRUE(IsReady("d"));
  EXPECT_FALSE(Wrote("report IMEX"));
}

TEST_F(DaemonTest, DaemonWithoutFabricHasAnEmptyLabelAndIsReadyByItself) {
  for (const bool controller_writes : {true, false}) {
    TestWorld world;
    world.state.clique_id = "";
    world.AddDomain("default");
    world.AddDaemon("d", controller_writes);
    world.Run(seconds(1));
    EXPECT_EQ(world.GetPod("d").clique_label, "") << "present, and empty";
    EXPECT_TRUE(world.GetPod("d").status.ready);
    EXPECT_TRUE(world.cliques.empty());
  }
}

// ---- The daemon writes its own entry.

TEST_F(DaemonTest, DaemonLabelsItsPodBeforeItJoins) {
  world_.AddDaemon("d", false);
  world_.Settle();
  const auto position = [&](const std::string& what) {
    return std::ranges::find_if(
        world_.log, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  EXPECT_LT(position("label pod"), position("create clique"));
  EXPECT_LT(position("create clique"), position("update clique"));
}

TEST_F(DaemonTest, DaemonWritesReadyOnlyOnceItsPodWasReadBackReady) {
  world_.AddDaemon("d", false);
  world_.Settle();
  ASSERT_NE(world_.Entry(), nullptr);
  EXPECT_EQ(world_.Entry()->status, "NotReady");
  world_.Run(world_.settings.daemon_delay);
  EXPECT_TRUE(IsReady("d"));
  EXPECT_EQ(world_.Entry()->status, "Ready");
  const auto pod =
      std::ranges::find(world_.log, "write status Running, ready of pod cdom-system/d");
  const auto entry = std::find(pod, world_.log.end(), "update clique " + kCliqueName);
  EXPECT_NE(entry, world_.log.end()) << "the pod first, then the entry";
}

TEST_F(DaemonTest, DaemonWhosePodsStatusCannotBeWrittenDoesNotSayReady) {
  world_.AddDaemon("d", false);
  world_.Settle();
  world_.fault = [](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<WritePodStatus>(action)) return std::nullopt;
    return TestWorld::Fault{};
  };
  world_.Run(seconds(10));
  EXPECT_EQ(world_.Entry()->status, "NotReady");
}

TEST_F(DaemonTest, LabelThatAnotherTakesAwayIsNotPutBack) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.GetPod("d").clique_label.reset();
  world_.Run(seconds(10));
  EXPECT_FALSE(world_.GetPod("d").clique_label.has_value()) << "a daemon labels once, at its start";
  EXPECT_TRUE(IsReady("d"));
}

TEST_F(DaemonTest, CliqueOfADaemonHasItsLabelsAndItsPodAsOwner) {
  const Pod& pod = world_.AddDaemon("d", false);
  world_.Settle();
  const Clique& clique = world_.GetTheClique();
  EXPECT_EQ(clique.labels.at(std::string(kDomainLabel)), kDomainUid);
  EXPECT_EQ(clique.labels.at(std::string(kCliqueIdLabel)), kCliqueId);
  ASSERT_EQ(clique.owners.size(), 1U);
  EXPECT_EQ(
      clique.owners[0].reference,
      (kube::OwnerReference{.api_version = "v1", .kind = "Pod", .name = "d", .uid = pod.meta.uid}));
}

TEST_F(DaemonTest, DaemonTakesTheLowestFreeIndex) {
  AddOthers({0, 1, 3, 17});
  world_.AddDaemon("d", false);
  world_.Settle();
  ASSERT_NE(world_.Entry(), nullptr);
  EXPECT_EQ(world_.Entry()->index, 2);
  EXPECT_EQ(world_.GetTheClique().daemons.size(), 5U);
}

TEST_F(DaemonTest, DaemonStaysOutOfAFullCliqueAndSaysWhy) {
  AddOthers({0, 1});
  world_.AddDaemon("d", false).members_max = 2;
  world_.Run(seconds(10));
  EXPECT_EQ(world_.Entry(), nullptr);
  EXPECT_FALSE(IsReady("d"));
  EXPECT_EQ(world_.state.pods.begin()->second.daemon->problem, "no index below 2 is free");
}

TEST_F(DaemonTest, EntryOfTheNodeIsTakenOverWithItsIndexAndReadiness) {
  AddOthers({0});
  WriteEntry("10.200.0.1", 7);
  world_.GetTheClique().daemons[0].status = "Ready";
  world_.AddDaemon("d", false);
  while (world_.Entry()->ip == "10.200.0.1") ASSERT_TRUE(world_.Turn());
  ASSERT_EQ(world_.Entry()->ip, world_.GetPod("d").status.pod_ip);
  EXPECT_EQ(world_.Entry()->index, 7);
  EXPECT_EQ(world_.Entry()->status, "Ready") << "left alone when only the address changes";
  EXPECT_EQ(world_.GetTheClique().owners.size(), 1U);
}

TEST_F(DaemonTest, ConflictIsTriedAgainAndTheOthersEntryIsKept) {
  AddOthers({0});
  world_.AddDaemon("d", false);
  int conflicts = 0;
  world_.fault = [&](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<UpdateClique>(action) || conflicts > 0) return std::nullopt;
    ++conflicts;
    // Another node was faster.
    Clique& clique = world_.GetTheClique();
    clique.daemons.push_back({.node = "fast", .ip = "10.1.0.9", .index = 1, .status = "NotReady"});
    clique.meta.resource_version = "600";
    return TestWorld::Fault{.code = base::ErrorCode::kConflict};
  };
  world_.Run(milliseconds(20));
  EXPECT_EQ(conflicts, 1);
  EXPECT_EQ(world_.GetTheClique().Find("fast")->index, 1);
  EXPECT_EQ(world_.Entry()->index, 2);
}

TEST_F(DaemonTest, EntryThatAnotherRemovedIsWrittenAgain) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.GetTheClique().daemons.clear();
  world_.GetTheClique().meta.resource_version = "900";
  world_.Settle();
  EXPECT_EQ(world_.Entry()->status, "Ready");
}

TEST_F(DaemonTest, StoppedDaemonLeavesTheCliqueBeforeItsPodEnds) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.log.clear();
  world_.DeletePod("d");
  world_.Run(seconds(1));
  EXPECT_EQ(world_.Entry(), nullptr);
  ASSERT_FALSE(world_.log.empty());
  EXPECT_EQ(world_.log.front(), "update clique " + kCliqueName);
  EXPECT_EQ(world_.log.back(), "delete pod cdom-system/d");
  EXPECT_TRUE(world_.cliques.contains(kCliqueName)) << "that is for the garbage collector";
}

TEST_F(DaemonTest, DaemonThatCannotLeaveGivesUpInTime) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.DeletePod("d");
  world_.fault = [](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<UpdateClique>(action)) return std::nullopt;
    return TestWorld::Fault{.code = base::ErrorCode::kConflict};
  };
  world_.Run(milliseconds(9'999));
  EXPECT_TRUE(world_.pods.contains("d"));
  world_.Run(milliseconds(1));
  EXPECT_FALSE(world_.pods.contains("d"));
  EXPECT_NE(world_.Entry(), nullptr);
}

TEST_F(DaemonTest, DaemonWhoseObjectVanishesLeavesItsEntryBehind) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.RemovePod("d");
  world_.Run(seconds(60));
  EXPECT_NE(world_.Entry(), nullptr);
  EXPECT_TRUE(world_.state.pods.empty());
  EXPECT_TRUE(world_.state.claims.empty());
}

TEST_F(DaemonTest, OrphanedDaemonDefendsItsEntry) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.state.pods.begin()->second.orphan = true;
  world_.RemovePod("d");
  world_.GetTheClique().daemons.clear();
  world_.GetTheClique().meta.resource_version = "900";
  world_.Run(seconds(1));
  EXPECT_NE(world_.Entry(), nullptr);
}

TEST_F(DaemonTest, DaemonOfANewPodWaitsUntilTheOneBeforeHasEnded) {
  world_.AddDaemon("old", false);
  world_.Run(seconds(1));
  world_.state.pods.begin()->second.orphan = true;
  world_.RemovePod("old");
  world_.AddDaemon("new", false);
  world_.Run(seconds(10));
  EXPECT_EQ(world_.GetPod("new").status.phase, "Pending") << "daemon-0 is held";
  ReapOrphans(world_.state);
  world_.Run(seconds(10));
  EXPECT_TRUE(IsReady("new"));
  EXPECT_EQ(world_.Entry()->ip, world_.GetPod("new").status.pod_ip);
}

TEST_F(DaemonTest, DeadNodeLeavesItsEntryReady) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.state.alive = false;
  world_.Run(seconds(600));
  EXPECT_EQ(world_.Entry()->status, "Ready");
}

TEST_F(DaemonTest, StalledDaemonIsNotReadyAndSaysSoInItsEntry) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  world_.state.daemons_stalled = true;
  world_.Settle();
  EXPECT_FALSE(IsReady("d"));
  EXPECT_EQ(world_.Entry()->status, "NotReady");
  world_.state.daemons_stalled = false;
  world_.Settle();
  EXPECT_TRUE(IsReady("d"));
  EXPECT_EQ(world_.Entry()->status, "Ready");
}

TEST_F(DaemonTest, DaemonElsewhereWritesForItselfAndIsReadyOnceThatIsTold) {
  world_.settings.daemons_elsewhere = true;
  world_.state.daemons_stalled = true;
  world_.AddDaemon("d", false);
  world_.Run(seconds(10));
  EXPECT_FALSE(world_.GetPod("d").clique_label);
  EXPECT_TRUE(world_.cliques.empty());
  EXPECT_FALSE(IsReady("d"));
  world_.GetPod("d").clique_label = kCliqueId;
  WriteEntry(world_.GetPod("d").status.pod_ip, 0);
  world_.Run(seconds(10));
  EXPECT_FALSE(IsReady("d"));
  world_.state.daemons_stalled = false;
  world_.Run(seconds(1));
  EXPECT_TRUE(IsReady("d"));
}

TEST_F(DaemonTest, DaemonOfANodeThatMovesLeavesTheOldCliqueAndJoinsTheNew) {
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  Move(world_.state, "fabric.9");
  world_.Run(seconds(2));
  EXPECT_EQ(world_.Entry(), nullptr);
  const Clique& joined = world_.cliques.at(std::string(kDomainUid) + ".fabric.9");
  EXPECT_EQ(joined.Find(kNodeName)->status, "Ready");
  EXPECT_EQ(world_.GetPod("d").clique_label, "fabric.9");
  EXPECT_EQ(world_.GetPod("d").status.restarts, 1);
  EXPECT_EQ(world_.node->clique, "fabric.9");
}

TEST_F(DaemonTest, RebootedDaemonComesBackWithAnotherAddressAndTheSameIndex) {
  AddOthers({0});
  world_.AddDaemon("d", false);
  world_.Run(seconds(1));
  const Member before = *world_.Entry();
  Reboot(world_.state, "boot-2", WallTime());
  world_.Run(seconds(2));
  EXPECT_NE(world_.Entry()->ip, before.ip);
  EXPECT_EQ(world_.Entry()->index, before.index);
  EXPECT_EQ(world_.Entry()->status, "Ready");
}

}  // namespace
}  // namespace nodesim

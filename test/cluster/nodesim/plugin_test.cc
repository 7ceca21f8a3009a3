#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/cluster/nodesim/test_world.h"

namespace nodesim {
namespace {

using Log = std::vector<std::string>;
using std::chrono::seconds;

const std::string kLabel = std::string("label the node for domain ") + kDomainUid;
const std::string kUnlabel = "remove the domain label";

class Plugin : public testing::Test {
 protected:
  Plugin() {
    world_.AddDomain("default");
    world_.settings.ready_delay = milliseconds(0);
    world_.Settle();
    world_.log.clear();
  }

  // The only claim that is not prepared.
  const ClaimRun& Pending() {
    for (const auto& [uid, claim] : world_.state.claims) {
      if (!claim.prepared) return claim;
    }
    ADD_FAILURE() << "all claims are prepared";
    static const ClaimRun none;
    return none;
  }
  bool Runs(const std::string& pod) { return world_.GetPod(pod).status.phase == "Running"; }

  // The daemon on this node says that it is ready.
  void SetMember(const std::string& status, const std::string& clique_id = kCliqueId) {
    const std::string name = std::string(kDomainUid) + "." + clique_id;
    Clique& clique = world_.cliques[name];
    clique.meta.key = {.ns = world_.settings.driver_namespace, .name = name};
    clique.meta.resource_version = "500";
    clique.daemons = {{.node = kNodeName, .ip = "10.9.9.9", .index = 0, .status = status}};
  }

  TestWorld world_;
};

TEST_F(Plugin, NodeIsLabelledBeforeAnythingIsReady) {
  world_.AddWorkload("w");
  world_.Settle();
  EXPECT_EQ(world_.node->domain, kDomainUid);
  EXPECT_FALSE(Runs("w"));
  EXPECT_FALSE(Pending().reason_is_permanent);
}

TEST_F(Plugin, WorkloadIsReleasedOnceTheNodesOwnEntryIsReady) {
  world_.AddWorkload("w");
  SetMember("NotReady");
  world_.Settle();
  EXPECT_FALSE(Runs("w"));
  SetMember("Ready");
  world_.Settle();
  EXPECT_TRUE(Runs("w"));
}

TEST_F(Plugin, WhereImexRunsOnTheHostsAChannelNeedsNoLabelAndNoDaemonAndADaemonGetsNothing) {
  world_.settings.imex_on_hosts = true;
  world_.AddWorkload("w");
  world_.Settle();
  EXPECT_TRUE(Runs("w"));
  EXPECT_EQ(world_.node->domain, "");
  world_.AddDaemon("d", true);
  world_.Settle();
  EXPECT_FALSE(Runs("d"));
  EXPECT_TRUE(Pending().reason_is_permanent);
}

TEST_F(Plugin, PodNeitherStartsNorEndsWhileThePluginIsGone) {
  world_.state.plugin_stopped = true;
  world_.AddWorkload("w");
  SetMember("Ready");
  world_.Run(seconds(60));
  EXPECT_FALSE(Runs("w"));
  EXPECT_NE(Pending().reason.find("is not registered"), std::string::npos) << Pending().reason;
  world_.state.plugin_stopped = false;
  world_.Run(seconds(1));
  EXPECT_TRUE(Runs("w"));

  world_.state.plugin_stopped = true;
  world_.DeletePod("w", 1);
  world_.Run(seconds(60));
  EXPECT_TRUE(world_.pods.contains("w"));
  world_.state.plugin_stopped = false;
  world_.Run(seconds(1));
  EXPECT_FALSE(world_.pods.contains("w"));
}

TEST_F(Plugin, EntryOfAnotherNodeReleasesNothing) {
  world_.AddWorkload("w");
  SetMember("Ready");
  world_.GetTheClique().daemons[0].node = "node-001";
  world_.Settle();
  EXPECT_FALSE(Runs("w"));
}

TEST_F(Plugin, EntryOfAnotherCliqueReleasesNothing) {
  world_.AddWorkload("w");
  SetMember("Ready", "fabric.1");
  world_.Settle();
  EXPECT_FALSE(Runs("w"));
}

TEST_F(Plugin, CliqueOfAnotherNamespaceReleasesNothing) {
  world_.AddWorkload("w");
  SetMember("Ready");
  world_.GetTheClique().meta.key.ns = "default";
  world_.Settle();
  EXPECT_FALSE(Runs("w"));
}

TEST_F(Plugin, StatusOfTheDomainReleasesANodeWithoutFabric) {
  world_.state.clique_id = "";
  world_.AddWorkload("w");
  world_.domain->nodes[kNodeName] = false;
  world_.Settle();
  EXPECT_FALSE(Runs("w"));
  world_.domain->nodes[kNodeName] = true;
  world_.Settle();
  EXPECT_TRUE(Runs("w"));
}

TEST_F(Plugin, ClaimOfAnUnknownDomainIsRefusedForGoodAndLabelsNothing) {
  world_.domain.reset();
  world_.AddWorkload("w");
  world_.Settle();
  EXPECT_TRUE(Pending().reason_is_permanent);
  EXPECT_EQ(world_.node->domain, "");
}

TEST_F(Plugin, ClaimOutsideTheDomainsNamespaceIsRefusedForGoodAndLabelsNothing) {
  world_.AddDomain("elsewhere");
  world_.AddWorkload("w");
  SetMember("Ready");
  world_.Settle();
  EXPECT_TRUE(Pending().reason_is_permanent);
  EXPECT_EQ(world_.node->domain, "");
}

TEST_F(Plugin, NodeOfAnotherDomainIsNotTakenFromIt) {
  world_.node->domain = "another-domain";
  world_.AddWorkload("w");
  SetMember("Ready");
  world_.Settle();
  EXPECT_EQ(world_.node->domain, "another-domain");
  EXPECT_FALSE(Runs("w"));
  EXPECT_NE(Pending().reason.find("different ComputeDomain"), std::string::npos);

  world_.node->domain = "";
  world_.Touch(*world_.node);
  world_.Settle();
  EXPECT_TRUE(Runs("w")) << "it is free now";
}

TEST_F(Plugin, LabelThatIsTakenAwayWhileTheClaimWaitsIsPutBack) {
  world_.AddWorkload("w");
  world_.Settle();
  world_.node->domain = "";
  world_.Touch(*world_.node);
  world_.Settle();
  EXPECT_EQ(world_.node->domain, kDomainUid);
}

TEST_F(Plugin, OneChannelClaimHoldsTheNodeAtATime) {
  SetMember("Ready");
  world_.AddWorkload("a").run_seconds = 30;
  world_.AddWorkload("b").run_seconds = 30;
  world_.Settle();
  EXPECT_NE(Runs("a"), Runs("b"));
  EXPECT_NE(Pending().reason.find("a device is held by claim default/"), std::string::npos);
  world_.Run(seconds(30));
  EXPECT_NE(Runs("a"), Runs("b")) << "the other one has it now";
}

TEST_F(Plugin, AdministratorsClaimHoldsNothing) {
  SetMember("Ready");
  world_.AddWorkload("a");
  world_.AddWorkload("b");
  world_.claims.at("b-claim").grants[0].admin = true;
  world_.Settle();
  EXPECT_TRUE(Runs("a"));
  EXPECT_TRUE(Runs("b"));
}

TEST_F(Plugin, LabelGoesBeforeTheEndOfTheWorkloadIsTold) {
  SetMember("Ready");
  world_.AddWorkload("w").run_seconds = 1;
  world_.Settle();
  world_.log.clear();
  world_.Run(seconds(1));
  ASSERT_EQ(world_.log.size(), 3U);
  EXPECT_EQ(world_.log[0], kUnlabel);
  EXPECT_EQ(world_.log[1], "write status Running of pod default/w") << "its containers have ended";
  EXPECT_EQ(world_.log[2], "write status Succeeded of pod default/w");
  EXPECT_EQ(world_.node->domain, "");
  EXPECT_TRUE(world_.state.claims.empty());
}

TEST_F(Plugin, EndIsNotToldWhileTheLabelCannotBeRemoved) {
  SetMember("Ready");
  world_.AddWorkload("w").run_seconds = 1;
  world_.Settle();
  world_.fault = [](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<SetDomainLabel>(action)) return std::nullopt;
    return TestWorld::Fault{.code = base::ErrorCode::kConflict};
  };
  world_.Run(seconds(10));
  EXPECT_TRUE(Runs("w"));
  world_.fault = nullptr;
  world_.Run(seconds(10));
  EXPECT_EQ(world_.GetPod("w").status.phase, "Succeeded");
}

TEST_F(Plugin, LabelOfAnotherDomainStaysWhenTheClaimGoes) {
  SetMember("Ready");
  world_.AddWorkload("w").run_seconds = 1;
  world_.Settle();
  world_.node->domain = "another-domain";
  world_.Touch(*world_.node);
  world_.Run(seconds(1));
  EXPECT_EQ(world_.node->domain, "another-domain");
  EXPECT_EQ(world_.GetPod("w").status.phase, "Succeeded");
}

TEST_F(Plugin, ClaimThatTwoPodsShareIsGivenBackByTheLast) {
  SetMember("Ready");
  world_.AddWorkload("a").run_seconds = 1;
  Pod& second = world_.AddPod("b");
  second.restart = Pod::Restart::kNever;
  second.run_seconds = 5;
  second.claims = {{.reference = "device", .claim_name = "a-claim"}};
  world_.claims.at("a-claim").reserved_for.push_back({.name = "b", .uid = second.meta.uid});
  world_.Run(seconds(2));
  EXPECT_EQ(world_.GetPod("a").status.phase, "Succeeded");
  EXPECT_EQ(world_.node->domain, kDomainUid) << "b still uses the claim";
  world_.Run(seconds(5));
  EXPECT_EQ(world_.GetPod("b").status.phase, "Succeeded");
  EXPECT_EQ(world_.node->domain, "");
}

TEST_F(Plugin, LabelOfAClaimThatWasNeverReadyIsRemovedToo) {
  world_.AddWorkload("w");
  world_.Settle();
  EXPECT_EQ(world_.node->domain, kDomainUid);
  world_.DeletePod("w");
  world_.Run(seconds(1));
  EXPECT_EQ(world_.node->domain, "");
  EXPECT_TRUE(world_.pods.empty());
}

TEST_F(Plugin, LabelThatTheWatchHasNotShownYetIsRemovedToo) {
  world_.AddWorkload("w");
  world_.Lag(TestWorld::Watch::kNode);
  world_.Settle();
  EXPECT_EQ(world_.node->domain, kDomainUid);
  world_.DeletePod("w");
  world_.Run(milliseconds(500));
  EXPECT_TRUE(world_.pods.contains("w"));
  world_.CatchUp(TestWorld::Watch::kNode);
  world_.Run(seconds(1));
  EXPECT_EQ(world_.node->domain, "");
  EXPECT_FALSE(world_.pods.contains("w"));
}

TEST_F(Plugin, LabelStaysWhenARebootHasLostTheCheckpoint) {
  SetMember("Ready");
  world_.AddWorkload("w").run_seconds = -1;
  world_.Settle();
  Reboot(world_.state, "boot-2", WallTime());
  world_.Settle();
  EXPECT_EQ(world_.GetPod("w").status.phase, "Failed");
  EXPECT_EQ(world_.node->domain, kDomainUid);
}

TEST_F(Plugin, DaemonsClaimWaitsForNothingButTheDomain) {
  world_.domain.reset();
  world_.AddDaemon("d", true);
  world_.Settle();
  EXPECT_FALSE(Runs("d"));
  EXPECT_FALSE(Pending().reason_is_permanent);
  world_.AddDomain("default");
  world_.Settle();
  EXPECT_TRUE(Runs("d"));
  EXPECT_EQ(world_.node->domain, "") << "that is for channels";
}

TEST_F(Plugin, ClaimOfOtherDriversOnlyIsPreparedAtOnce) {
  world_.AddWorkload("w");
  world_.claims.at("w-claim").grants.clear();
  world_.Settle();
  EXPECT_TRUE(Runs("w"));
  EXPECT_EQ(world_.node->domain, "");
}

TEST_F(Plugin, PacedPrepareIsTriedNoSoonerThanNvidiasWould) {
  world_.settings.paced_prepare = true;
  SetMember("NotReady");
  world_.AddWorkload("w");
  std::vector<int> tried_at;
  const TimePoint begin = world_.now;
  for (int elapsed = 0; elapsed <= 10'000; elapsed += 50) {
    world_.now = begin + milliseconds(elapsed);
    const int before = world_.state.claims.empty() ? 0 : Pending().attempts;
    world_.Settle();
    if (Pending().attempts > before) tried_at.push_back(elapsed);
  }
  EXPECT_EQ(tried_at, (std::vector<int>{250, 750, 1'750, 3'750, 6'750, 9'750}));
}

}  // namespace
}  // namespace nodesim

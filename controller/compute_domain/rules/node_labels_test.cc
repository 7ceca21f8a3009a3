#include "controller/compute_domain/rules/node_labels.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Actions;
using fixtures::Converged;
using fixtures::Now;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

// node-1 has the label and no claim, for so long.
Observed Idle(milliseconds since) {
  Observed observed = Converged();
  std::erase_if(observed.children.claims, [](const api::ResourceClaim& claim) {
    return !claim.channel_domain.empty() && claim.node == "node-1";
  });
  observed.memory.idle_since = {{"node-1", Now().monotonic - since}};
  return observed;
}

TEST(PlanLabels, Q2_NodeInUseIsLeftAlone) {
  const NodeLabels labels = PlanNodeLabels(Converged(), Now());
  EXPECT_TRUE(labels.actions.empty());
  EXPECT_FALSE(labels.requeue_after);
}

TEST(PlanLabels, B24_PluginHasItsTimeFirst) {
  const NodeLabels labels = PlanNodeLabels(Idle(seconds(29)), Now());
  EXPECT_TRUE(labels.actions.empty());
  EXPECT_EQ(labels.requeue_after, seconds(1));
}

TEST(PlanLabels, B24_OfSeveralIdleNodesTheOneThatIsDueFirstIsWaitedFor) {
  for (const auto& [first, second] :
       {std::pair{seconds(29), seconds(10)}, std::pair{seconds(10), seconds(29)}}) {
    Observed observed = Idle(second);
    observed.children.claims.clear();
    observed.memory.idle_since["node-0"] = Now().monotonic - first;
    EXPECT_EQ(PlanNodeLabels(observed, Now()).requeue_after, seconds(1));
  }
}

TEST(PlanLabels, B24_NothingIsTakenBeforeALiveReadOfTheDomainsNamespace) {
  const NodeLabels labels = PlanNodeLabels(Idle(seconds(30)), Now());
  const auto reads = Actions<ReadClaims>(labels.actions);
  ASSERT_EQ(labels.actions.size(), 1U);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].ns, fixtures::kUserNs);
}

TEST(PlanLabels, B24_LabelThatStayedBehindIsTakenAwayFromTheNodeThatWasSeen) {
  Observed observed = Idle(seconds(30));
  for (api::Node& node : observed.children.labelled_nodes) node.meta.resource_version = "7";
  observed.evidence.claims = observed.children.claims;
  const NodeLabels labels = PlanNodeLabels(observed, Now());
  const auto removals = Actions<RemoveNodeLabel>(labels.actions);
  ASSERT_EQ(removals.size(), 1U);
  EXPECT_EQ(removals[0].node, "node-1");
  EXPECT_EQ(removals[0].domain_uid, fixtures::kUid);
  EXPECT_EQ(removals[0].version, "7") << "a plugin may have set it again since";
  EXPECT_EQ(labels.actions.size(), 1U);
}

TEST(PlanLabels, S3_ClaimThatOnlyTheLiveReadShowsKeepsTheLabel) {
  Observed observed = Idle(seconds(30));
  observed.evidence.claims = Converged().children.claims;
  EXPECT_TRUE(PlanNodeLabels(observed, Now()).actions.empty());
}

// node-1, which has no label of ours any more.
Observed Removed() {
  Observed observed = Idle(seconds(30));
  std::erase_if(observed.children.labelled_nodes,
                [](const api::Node& node) { return node.meta.key.name == "node-1"; });
  observed.memory.labels_removed = {"node-1"};
  return observed;
}

TEST(PlanLabels, C8_AfterARemovalClaimsAreReadOnceMore) {
  const NodeLabels labels = PlanNodeLabels(Removed(), Now());
  EXPECT_EQ(Actions<ReadClaims>(labels.actions).size(), 1U);
  EXPECT_EQ(Actions<ReadOwner>(labels.actions).size(), 1U);
  EXPECT_EQ(labels.actions.size(), 2U);
}

TEST(PlanLabels, C8_NodeToWhichAClaimCameMeanwhileGetsItsLabelBack) {
  Observed observed = Removed();
  observed.evidence.claims = Converged().children.claims;
  observed.evidence.owner.emplace(observed.domain->meta);
  const NodeLabels labels = PlanNodeLabels(observed, Now());
  const auto restored = Actions<RestoreNodeLabel>(labels.actions);
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(restored[0].node, "node-1");
  EXPECT_EQ(restored[0].domain_uid, fixtures::kUid);
  EXPECT_EQ(labels.actions.size(), 1U);
}

TEST(PlanLabels, R2_LabelComesBackOnlyForADomainThatALiveReadShowsAlive) {
  Observed observed = Removed();
  observed.evidence.claims = Converged().children.claims;
  const NodeLabels reads = PlanNodeLabels(observed, Now());
  EXPECT_EQ(Actions<ReadOwner>(reads.actions).size(), 1U);
  EXPECT_EQ(reads.actions.size(), 1U);
  observed.evidence.owner.emplace(std::nullopt);
  EXPECT_TRUE(PlanNodeLabels(observed, Now()).actions.empty());
  observed.evidence.owner.emplace(observed.domain->meta);
  EXPECT_EQ(PlanNodeLabels(observed, Now()).actions.size(), 1U);
  (*observed.evidence.owner)->deleting = true;
  EXPECT_TRUE(PlanNodeLabels(observed, Now()).actions.empty());
}

TEST(PlanLabels, ClaimsThatCannotBeReadMayBeAnywhere) {
  Observed observed = Idle(seconds(30));
  observed.facts.views.claims_are_read = false;
  EXPECT_TRUE(PlanNodeLabels(observed, Now()).actions.empty());
}

TEST(PlanLabels, NodeThatWasOnlySeenNowWaitsForItsFirstLook) {
  Observed observed = Idle(seconds(30));
  observed.memory.idle_since.clear();
  const NodeLabels labels = PlanNodeLabels(observed, Now());
  EXPECT_TRUE(labels.actions.empty());
  EXPECT_FALSE(labels.requeue_after);
}

TEST(IdleNodes, C7_AdminClaimsUseANodeAndClaimsElsewhereDoNot) {
  Observed observed = Converged();
  for (api::ResourceClaim& claim : observed.children.claims) {
    if (claim.node == "node-0") claim.meta.key.ns = "team-b";
    if (claim.node == "node-1") claim.admin_access = true;
  }
  EXPECT_EQ(IdleNodes(observed), (Names{"node-0"}));
}

TEST(UnlabelledNodes, REV3_F5_OnlyNodesThatLiveAndThatPodsUseWithoutALabelCount) {
  struct Row {
    const char* what;
    void (*change)(Observed&);
    std::size_t nodes;
  };
  const std::vector<Row> rows = {
      {"as it is", [](Observed&) {}, 1},
      {"no domain", [](Observed& o) { o.domain.reset(); }, 0},
      {"claims are not read", [](Observed& o) { o.facts.views.claims_are_read = false; }, 0},
      {"an old view", [](Observed& o) { o.facts.views.freshness[Kind::kNode] = Freshness::kStale; },
       0},
      {"IMEX on the hosts", [](Observed& o) { o.facts.settings.Edit().imex_on_hosts = true; }, 0},
      {"an unknown node", [](Observed& o) { o.nodes.clear(); }, 0},
      {"not ready", [](Observed& o) { o.nodes["node-0"].ready = false; }, 0},
      {"another's", [](Observed& o) { o.nodes["node-0"].domain = "another"; }, 0},
      {"nobody uses it", [](Observed& o) { o.children.claims[0].consumers.clear(); }, 0},
      {"another's claim", [](Observed& o) { o.children.claims[0].channel_domain = "another"; }, 0},
  };
  for (const Row& row : rows) {
    Observed observed = Converged();
    observed.nodes["node-0"].domain.clear();
    row.change(observed);
    EXPECT_EQ(UnlabelledNodes(observed, observed.children.claims).size(), row.nodes) << row.what;
  }
}

TEST(PlanNodeLabels, REV3_F5_NodeIsLabelledAgainAfterAMinuteAndALiveRead) {
  Observed observed = Converged();
  observed.nodes["node-0"].domain.clear();
  observed.nodes["node-1"].domain.clear();
  const auto now = fixtures::Now();
  observed.memory.unlabelled_since = {{"node-0", now.monotonic - std::chrono::seconds(60)},
                                      {"node-1", now.monotonic - std::chrono::seconds(59)}};
  const NodeLabels reads = PlanNodeLabels(observed, now);
  EXPECT_EQ(reads.requeue_after, std::chrono::seconds(1));
  EXPECT_EQ(fixtures::Actions<ReadClaims>(reads.actions).size(), 1U);
  observed.evidence.claims = observed.children.claims;
  observed.evidence.owner.emplace(observed.domain->meta);
  const auto restores = fixtures::Actions<RestoreNodeLabel>(PlanNodeLabels(observed, now).actions);
  ASSERT_EQ(restores.size(), 1U);
  EXPECT_EQ(restores[0].node, "node-0");
  observed.memory.labels_removed = {"node-0"};
  EXPECT_EQ(fixtures::Actions<RestoreNodeLabel>(PlanNodeLabels(observed, now).actions).size(), 1U)
      << "once";
}

TEST(PlanNodeLabels, REV3_X2_LooksAgainWhenANodeWithoutPodsIsToBeTold) {
  Observed observed = fixtures::Converged();
  fixtures::EndWorkload(observed.children.claims);
  observed.memory.idle_since["node-0"] = fixtures::Now().monotonic - std::chrono::seconds(4);
  EXPECT_EQ(PlanNodeLabels(observed, fixtures::Now()).requeue_after, std::chrono::seconds(6));
}

}  // namespace
}  // namespace compute_domain

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

TEST(PlanLabels, B24_LabelThatStayedBehindIsTakenAway) {
  Observed observed = Idle(seconds(30));
  observed.evidence.claims = observed.children.claims;
  const NodeLabels labels = PlanNodeLabels(observed, Now());
  const auto removals = Actions<RemoveNodeLabel>(labels.actions);
  ASSERT_EQ(removals.size(), 1U);
  EXPECT_EQ(removals[0].node, "node-1");
  EXPECT_EQ(removals[0].domain, fixtures::kUid);
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
  EXPECT_EQ(labels.actions.size(), 1U);
}

TEST(PlanLabels, C8_NodeToWhichAClaimCameMeanwhileGetsItsLabelBack) {
  Observed observed = Removed();
  observed.evidence.claims = Converged().children.claims;
  const NodeLabels labels = PlanNodeLabels(observed, Now());
  const auto restored = Actions<RestoreNodeLabel>(labels.actions);
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(restored[0].node, "node-1");
  EXPECT_EQ(restored[0].domain, fixtures::kUid);
  EXPECT_EQ(labels.actions.size(), 1U);
}

TEST(PlanLabels, MissingLabel_IsRestored_OnceALiveReadShowsAClaim) {
  Observed observed = Converged();
  observed.memory.unlabelled_since["node-1"] = Now().monotonic - seconds(59);
  EXPECT_TRUE(PlanNodeLabels(observed, Now()).actions.empty());
  observed.memory.unlabelled_since["node-1"] = Now().monotonic - seconds(60);
  EXPECT_EQ(Actions<ReadClaims>(PlanNodeLabels(observed, Now()).actions).size(), 1U);
  observed.evidence.claims.emplace();
  EXPECT_TRUE(Actions<RestoreNodeLabel>(PlanNodeLabels(observed, Now()).actions).empty())
      << "the cache is behind";
  observed.evidence.claims = Converged().children.claims;
  const auto restored = Actions<RestoreNodeLabel>(PlanNodeLabels(observed, Now()).actions);
  ASSERT_EQ(restored.size(), 1U);
  EXPECT_EQ(restored[0].node, "node-1");
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
  EXPECT_EQ(IdleNodes(observed, observed.children.claims), (Names{"node-0"}));
}

}  // namespace
}  // namespace compute_domain

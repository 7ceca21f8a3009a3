#include "controller/compute_domain/status/explanation/member_phases.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "test/fixtures/next_memory.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Is = MemberPhase::Is;

Instant At(milliseconds later) {
  return {.monotonic = fixtures::Now().monotonic + later, .wall = fixtures::Now().wall + later};
}

// A domain that passes look at, one after the other.
class MemberPhasesTest : public testing::Test {
 protected:
  void Reset() {
    observed_ = fixtures::Converged();
    passes_ = 0;
  }
  // The next pass, a second later. Returns the phase of node-1. Absent: it has none.
  std::optional<Is> Look() {
    UpdateMemory(observed_, At(seconds(++passes_)));
    const auto phase = observed_.memory.phases.find("node-1");
    return phase == observed_.memory.phases.end() ? std::nullopt : std::optional(phase->second.is);
  }
  bool Passes(milliseconds later) const {
    return FindPassingPhase(observed_, "node-1", At(later)).has_value();
  }

  void Label(bool is_labelled) {
    observed_.children.labelled_nodes = {fixtures::MakeNode("node-0")};
    if (is_labelled) observed_.children.labelled_nodes.push_back(fixtures::MakeNode("node-1"));
  }
  void Serve(bool serves) {
    observed_.children.daemon_pods[1].ready = serves;
    observed_.domain->status.nodes[1].ready = serves;
  }
  void EndJobs() { observed_.children.claims.clear(); }
  void EndJob() { observed_.children.claims[1].consumers.clear(); }

  Observed observed_ = fixtures::Converged();
  int passes_ = 0;
};

TEST_F(MemberPhasesTest, NodeThatJoins_Starts_UntilItIsReadyInStatus) {
  Label(false);
  Serve(false);
  EXPECT_EQ(Look(), Is::kStarting);
  Label(true);
  observed_.children.daemon_pods[1].ready = true;
  EXPECT_EQ(Look(), Is::kStarting) << "its daemon has yet to say so in its clique";
  Serve(true);
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_FALSE(Passes(seconds(4)));
}

TEST_F(MemberPhasesTest, NodeThatStarts_PassesFor30Seconds_AndIsLookedAtAgainThen) {
  Serve(false);
  EXPECT_EQ(Look(), Is::kStarting);
  EXPECT_TRUE(Passes(seconds(30)));
  EXPECT_FALSE(Passes(seconds(31)));
  EXPECT_EQ(UntilPhasesEnd(observed_, At(seconds(11))), milliseconds(20'000));
  EXPECT_FALSE(UntilPhasesEnd(observed_, At(seconds(31))));
}

TEST_F(MemberPhasesTest, DaemonThatFailsUnderAJob_StillServes) {
  EXPECT_EQ(Look(), Is::kServing);
  Serve(false);
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_FALSE(Passes(seconds(3)));
  EXPECT_FALSE(UntilPhasesEnd(observed_, At(seconds(3))));
}

TEST_F(MemberPhasesTest, NodeWhosePodsHaveEnded_Leaves) {
  for (const bool by_label : {true, false}) {
    SCOPED_TRACE(by_label);
    Reset();
    EXPECT_EQ(Look(), Is::kServing);
    by_label ? Label(false) : EndJob();
    EXPECT_EQ(Look(), Is::kLeaving);
    EXPECT_TRUE(Passes(seconds(31)));
    EXPECT_FALSE(Passes(seconds(32)));
    EXPECT_EQ(UntilPhasesEnd(observed_, At(seconds(2))), milliseconds(30'000));
  }
}

TEST_F(MemberPhasesTest, REV3_W4_NodeWhoseDaemonEnds_Leaves_UntilTheCauseIsKnown) {
  for (const bool is_gone : {true, false}) {
    SCOPED_TRACE(is_gone);
    Reset();
    EXPECT_EQ(Look(), Is::kServing);
    observed_.children.daemon_pods[1].meta.deleting = true;
    EXPECT_EQ(Look(), Is::kServing);
    if (is_gone) observed_.children.daemon_pods.pop_back();
    EXPECT_EQ(Look(), Is::kServing);
    const auto leaving = FindPassingPhase(observed_, "node-1", At(milliseconds(3'999)));
    EXPECT_EQ(leaving, Is::kLeaving);
    EXPECT_EQ(UntilPhasesEnd(observed_, At(seconds(3))), milliseconds(1'000));
    EXPECT_FALSE(Passes(seconds(4)));
    EXPECT_FALSE(UntilPhasesEnd(observed_, At(seconds(4))));
  }
}

TEST_F(MemberPhasesTest, NodeThatWasNotReadyWhenItsDaemonEnds_DoesNotLeave) {
  EXPECT_EQ(Look(), Is::kServing);
  Serve(false);
  observed_.children.daemon_pods[1].meta.deleting = true;
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_FALSE(Passes(seconds(2))) << "another fault was told";
}

TEST_F(MemberPhasesTest, NodeThatIsToldAsLeaving_LeavesWhileItsDaemonIsAway) {
  EXPECT_EQ(Look(), Is::kServing);
  observed_.children.daemon_pods[1].meta.deleting = true;
  EXPECT_EQ(Look(), Is::kServing);
  observed_.domain->status.nodes[1].ready = false;
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_TRUE(Passes(seconds(3)));
}

TEST_F(MemberPhasesTest, NodeWhoseDaemonWeReplace_DoesNotLeave) {
  EXPECT_EQ(Look(), Is::kServing);
  observed_.memory.replacements["c"] = {
      .node = "node-1", .replaced = "u", .began = At(seconds(1)).monotonic};
  observed_.children.daemon_pods[1].meta.deleting = true;
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_FALSE(Passes(seconds(2)));
}

TEST_F(MemberPhasesTest, NodeWhoseNextDaemonStartsUnderAJob_DoesNotLeave) {
  EXPECT_EQ(Look(), Is::kServing);
  observed_.children.daemon_pods[1].meta.deleting = true;
  EXPECT_EQ(Look(), Is::kServing);
  observed_.children.daemon_pods[1].meta.deleting = false;
  Serve(false);
  EXPECT_EQ(Look(), Is::kServing);
  EXPECT_FALSE(Passes(seconds(3)));
  EXPECT_FALSE(UntilPhasesEnd(observed_, At(seconds(3))));
}

TEST_F(MemberPhasesTest, NodeThatGetsAPodOfTheNextJob_ServesOrStartsAgain) {
  EXPECT_EQ(Look(), Is::kServing);
  Label(false);
  EXPECT_EQ(Look(), Is::kLeaving);
  Label(true);
  EXPECT_EQ(Look(), Is::kServing) << "its daemon was kept";
  Label(false);
  EXPECT_EQ(Look(), Is::kLeaving);
  Label(true);
  Serve(false);
  EXPECT_EQ(Look(), Is::kStarting);
}

TEST_F(MemberPhasesTest, NodeWithoutPodLabelAndMember_HasNone) {
  EXPECT_EQ(Look(), Is::kServing);
  Label(false);
  observed_.children.claims.clear();
  observed_.domain->status.nodes.pop_back();
  EXPECT_EQ(Look(), std::nullopt);
}

TEST_F(MemberPhasesTest, NodeThatJoinsLater_Starts_WhateverStatusShows) {
  const Observed whole = observed_;
  Label(false);
  observed_.children.claims.erase(observed_.children.claims.begin() + 1);
  observed_.domain->status.nodes.pop_back();
  EXPECT_EQ(Look(), std::nullopt);
  const Memory memory = observed_.memory;
  observed_ = whole;
  observed_.memory = memory;
  observed_.children.daemon_pods[1].ready = false;
  EXPECT_EQ(Look(), Is::kStarting);
}

TEST_F(MemberPhasesTest, ClaimWithoutANode_IsNoUse) {
  observed_.children.claims[1].node.clear();
  EXPECT_EQ(Look(), Is::kLeaving);
}

TEST_F(MemberPhasesTest, WhereClaimsAreNotRead_TheLabelTellsWhoLeaves) {
  for (const bool are_old : {true, false}) {
    SCOPED_TRACE(are_old);
    Reset();
    if (are_old) observed_.facts.views.freshness[Kind::kClaim] = Freshness::kStale;
    if (!are_old) observed_ = fixtures::WithoutClaims(std::move(observed_));
    EXPECT_EQ(Look(), Is::kServing);
    EndJobs();
    EXPECT_EQ(Look(), Is::kServing);
    Label(false);
    EXPECT_EQ(Look(), Is::kLeaving);
  }
}

TEST_F(MemberPhasesTest, OldViews_ChangeNothing) {
  EXPECT_EQ(Look(), Is::kServing);
  Label(false);
  observed_.facts.views.freshness[Kind::kNode] = Freshness::kStale;
  EXPECT_EQ(Look(), Is::kServing);
  Label(true);
  observed_.facts.views.freshness[Kind::kNode] = Freshness::kFresh;
  EndJob();
  observed_.facts.views.claims_are_current = false;
  EXPECT_EQ(Look(), Is::kServing);
  observed_.facts.views.claims_are_current = true;
  EXPECT_EQ(Look(), Is::kLeaving);
}

TEST_F(MemberPhasesTest, ProcessThatHasJustStarted_TakesOverWhatStatusSays) {
  observed_.children.daemon_pods[1].ready = false;
  EXPECT_EQ(Look(), Is::kServing) << "status shows it as ready";
  Reset();
  Serve(false);
  fixtures::ConditionOf(observed_.domain->status, "MembersReady").reason = "MembersNotReady";
  EXPECT_EQ(Look(), Is::kStarting);
  EXPECT_FALSE(Passes(seconds(1))) << "it was told already";
  EXPECT_FALSE(UntilPhasesEnd(observed_, At(seconds(1))));
  Reset();
  Serve(false);
  fixtures::ConditionOf(observed_.domain->status, "MembersReady").reason = "MembersLeaving";
  observed_.children.daemon_pods.pop_back();
  EXPECT_EQ(Look(), Is::kServing) << "status would say that it starts";
  EXPECT_TRUE(Passes(milliseconds(2'999)));
  EXPECT_FALSE(Passes(seconds(3)));
  Reset();
  observed_.domain->status.nodes.pop_back();
  fixtures::ConditionOf(observed_.domain->status, "MembersReady").reason = "MembersLeaving";
  EXPECT_EQ(Look(), Is::kStarting) << "it was no member";
}

TEST_F(MemberPhasesTest, DomainThatDoesNotExistOrIsOfTheHosts_HasNone) {
  observed_.facts.settings.Edit().imex_on_hosts = true;
  EXPECT_EQ(Look(), std::nullopt);
  Reset();
  observed_.domain.reset();
  EXPECT_EQ(Look(), std::nullopt);
}

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/rules/rollout.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "controller/compute_domain/rules/membership/membership.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using api::DaemonPod;
using fixtures::Actions;
using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kOtherCliqueId;
using fixtures::Now;
using Names = std::set<std::string>;

// Both daemons were made from an older template, and may restart under their job.
Observed Outdated() {
  Observed observed = Converged();
  observed.domain->daemon_roll = "Always";
  observed.children.daemon_sets[0].template_hash = "new";
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
  return observed;
}

Rollout RollOf(const Observed& observed) {
  return PlanRollout(observed, PlanMembership(observed, Now()), Now());
}

// The pods that go, where a live read shows what the cache does.
Names Replaced(Observed observed) {
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  Names names;
  observed.evidence.claims = observed.children.claims;
  for (const ReplaceDaemon& action : Actions<ReplaceDaemon>(RollOf(observed).actions)) {
    EXPECT_EQ(action.uid, "pod-" + action.key.name.substr(std::string("daemon-").size()));
    names.insert(action.key.name);
  }
  return names;
}

void AddNode(Observed& observed, const std::string& node, int number, const std::string& clique) {
  api::DaemonPod pod = fixtures::MakePod(node, number);
  pod.clique = clique;
  pod.template_hash = "old";
  observed.children.daemon_pods.push_back(pod);
  observed.nodes[node] = fixtures::MakeNode(node);
  observed.children.labelled_nodes.push_back(fixtures::MakeNode(node));
}

TEST(PlanRoll, Q2_PodsOfTheCurrentTemplateStay) {
  Observed observed = Outdated();
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "new";
  EXPECT_FALSE(RollOf(observed).needs_daemons);
  EXPECT_TRUE(Replaced(observed).empty());
  EXPECT_TRUE(FindOutdated(observed).empty());
}

TEST(PlanRoll, PodsOfADaemonSetThatSomebodyElseMadeStay) {
  Observed observed = Outdated();
  observed.children.daemon_sets[0].template_hash.clear();
  EXPECT_FALSE(RollOf(observed).needs_daemons);
  EXPECT_TRUE(Replaced(observed).empty());
}

TEST(PlanRoll, R2_NoPodGoesBeforeALiveRead) {
  const Rollout rollout = RollOf(Outdated());
  EXPECT_TRUE(rollout.needs_daemons);
  EXPECT_TRUE(rollout.actions.empty());
}

TEST(PlanRoll, B37_OneNodeOfEachCliqueGoesAtATime) {
  Observed observed = Outdated();
  AddNode(observed, "node-2", 2, kOtherCliqueId);
  AddNode(observed, "node-3", 3, kOtherCliqueId);
  EXPECT_EQ(Replaced(observed), (Names{"daemon-node-0", "daemon-node-2"}));
  EXPECT_EQ(FindOutdated(observed).size(), 4U);
}

TEST(PlanRoll, NoneGoesWhileAnotherOfItsCliqueIsAway) {
  struct Row {
    const char* what;
    void (*change)(Observed&);
  };
  const std::vector<Row> rows = {
      {"is not ready yet",
       [](Observed& o) {
         o.children.daemon_pods[0].ready = false;
         o.children.daemon_pods[0].template_hash = "new";
       }},
      {"is going", [](Observed& o) { o.children.daemon_pods[0].meta.deleting = true; }},
      {"has no pod yet",
       [](Observed& o) { o.children.daemon_pods.erase(o.children.daemon_pods.begin()); }},
      {"has no pod any more, and left status and label when its job ended",
       [](Observed& o) {
         o.children.daemon_pods.erase(o.children.daemon_pods.begin());
         o.children.claims.erase(o.children.claims.begin());
         o.children.labelled_nodes.erase(o.children.labelled_nodes.begin());
         o.nodes["node-0"].domain.clear();
         o.domain->status.nodes.erase(o.domain->status.nodes.begin());
       }},
      {"is on a lost node", [](Observed& o) { o.nodes["node-0"].ready = false; }},
      {"is on a node that is gone", [](Observed& o) { o.nodes.erase("node-0"); }},
  };
  for (const Row& row : rows) {
    Observed observed = Outdated();
    row.change(observed);
    EXPECT_TRUE(Replaced(observed).empty()) << row.what;
  }
}

TEST(PlanRoll, NodeThatIsAwayInOneCliqueHoldsUpNoOther) {
  Observed observed = Outdated();
  AddNode(observed, "node-2", 2, kOtherCliqueId);
  observed.nodes["node-2"].ready = false;
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"});
}

TEST(PlanRoll, P17_NodeOfUnknownCliqueThatIsAwayHoldsUpAll) {
  Observed observed = Outdated();
  observed.nodes["node-9"] = fixtures::MakeNode("node-9");
  observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-9"));
  EXPECT_TRUE(Replaced(observed).empty());
  observed.children.labelled_nodes.back().clique = kOtherCliqueId;
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"});
}

TEST(PlanRoll, PodThatDoesNotServeGoesFirstForItsReplacementMay) {
  Observed observed = Outdated();
  observed.children.daemon_pods[1].ready = false;
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-1"});
}

TEST(PlanRoll, PodThatEndedIsLeftToItsDaemonSet) {
  Observed observed = Outdated();
  observed.children.daemon_pods[0].ready = false;
  observed.children.daemon_pods[0].terminal = true;
  EXPECT_TRUE(Replaced(observed).empty());
  EXPECT_EQ(FindOutdated(observed), (std::vector<std::string>{"daemon-node-1"}));
}

TEST(PlanRoll, NoneGoesWhileTwoOfItsCliqueAreAwayNotEvenOneOfThem) {
  Observed observed = Outdated();
  AddNode(observed, "node-2", 2, kCliqueId);
  observed.children.daemon_pods[0].ready = false;
  observed.nodes["node-1"].ready = false;
  EXPECT_TRUE(Replaced(observed).empty());
  observed.nodes["node-1"].ready = true;
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"});
}

TEST(PlanRoll, PodWhoseCliqueNobodyKnowsStaysIfItServesOrItsNodeIsLost) {
  struct Row {
    const char* what;
    void (*change)(Observed&, DaemonPod& pod);
    bool goes;
  };
  const std::vector<Row> rows = {
      {"it waits", [](Observed&, DaemonPod&) {}, true},
      {"it serves", [](Observed&, DaemonPod& pod) { pod.ready = true; }, false},
      {"its node is lost", [](Observed& o, DaemonPod&) { o.nodes["node-2"].ready = false; }, false},
      {"it has no node yet", [](Observed&, DaemonPod& pod) { pod.node.clear(); }, false},
  };
  for (const Row& row : rows) {
    Observed observed = Outdated();
    AddNode(observed, "node-2", 2, kCliqueId);
    DaemonPod& pod = observed.children.daemon_pods.back();
    pod.clique.reset();
    pod.ready = false;
    row.change(observed, pod);
    EXPECT_EQ(Replaced(observed).contains("daemon-node-2"), row.goes) << row.what;
  }
}

TEST(PlanRoll, PodsThatNeverJoinedGoAtOnce) {
  Observed observed = Outdated();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.clique.reset();
    pod.ready = false;
  }
  observed.children.cliques.clear();
  observed.domain->status.nodes.clear();
  EXPECT_EQ(Replaced(observed), (Names{"daemon-node-0", "daemon-node-1"}));
}

TEST(PlanRoll, WhatTheLiveReadShowsDecides) {
  Observed observed = Outdated();
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  observed.evidence.daemon_pods->at(1).ready = false;
  observed.evidence.daemon_pods->at(1).template_hash = "new";
  EXPECT_TRUE(RollOf(observed).actions.empty());
}

// ---- Under a job, or not.

// As Outdated(), of a domain that leaves it to the configuration.
Observed OutdatedByDefault() {
  Observed observed = Outdated();
  observed.domain->daemon_roll.clear();
  return observed;
}

TEST(PlanRoll, C5_DaemonOfACliqueInUseIsNotReplaced) {
  EXPECT_EQ(Replaced(OutdatedByDefault()), Names());
  Observed one = OutdatedByDefault();  // A claim on one node of the clique is enough.
  one.children.claims.resize(1);
  EXPECT_EQ(Replaced(one), Names());
}

TEST(PlanRoll, C5_DaemonOfAnIdleCliqueIsReplaced) {
  Observed observed = OutdatedByDefault();
  observed.children.claims.clear();
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"});
}

TEST(PlanRoll, C5_WhatTheDomainSaysStandsAboveTheConfiguration) {
  Observed observed = OutdatedByDefault();
  observed.facts.settings.Edit().rollout.policy = RolloutPolicy::kAlways;
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"});
  observed.domain->daemon_roll = "WhenIdle";
  EXPECT_EQ(Replaced(observed), Names());
  observed.domain->daemon_roll = "always";  // Not a word that is known: the careful one counts.
  EXPECT_EQ(Replaced(observed), Names());
}

TEST(PlanRoll, C5_ClaimsThatCannotBeReadCountAsInUse) {
  Observed observed = OutdatedByDefault();
  observed.children.claims.clear();
  observed.facts.views.claims_are_read = false;
  EXPECT_EQ(Replaced(observed), Names());
  observed.domain->daemon_roll = "Always";
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-0"}) << "nobody asks for claims";
}

TEST(PlanRoll, C20_WhoMayNotDeletePodsReplacesNone) {
  Observed observed = OutdatedByDefault();
  observed.children.claims.clear();
  observed.facts.cluster.missing_permissions[{.verb = "delete", .resource = "pods"}] = {};
  EXPECT_EQ(Replaced(observed), Names());
}

// No watch shows the grant.
TEST(PlanRoll, C20_WhoMayNotDeletePodsLooksAgainWhileAnyIsOutdated) {
  Observed observed = Outdated();
  observed.facts.cluster.missing_permissions[{.verb = "delete", .resource = "pods"}] =
      Now().monotonic + std::chrono::minutes(3);
  EXPECT_EQ(RollOf(observed).requeue_after, std::chrono::minutes(3));
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "new";
  EXPECT_FALSE(RollOf(observed).requeue_after);
}

TEST(PlanRoll, C5_R2_ThatACliqueIsIdleIsNotBelievedOfACache) {
  Observed observed = OutdatedByDefault();
  const std::vector<api::ResourceClaim> claims = std::exchange(observed.children.claims, {});
  const Rollout reads = RollOf(observed);
  EXPECT_EQ(Actions<ReadClaims>(reads.actions).size(), 1U);
  EXPECT_TRUE(reads.needs_daemons);
  EXPECT_TRUE(Actions<ReplaceDaemon>(reads.actions).empty());
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  observed.evidence.claims = claims;
  EXPECT_TRUE(RollOf(observed).actions.empty()) << "a claim was prepared meanwhile";
}

TEST(PlanRoll, C5_ClaimOnANodeWhoseCliqueNobodyKnowsMayBeInAny) {
  Observed observed = OutdatedByDefault();
  observed.children.claims.resize(1);
  observed.children.claims[0].node = "node-9";
  EXPECT_EQ(Replaced(observed), Names());
}

TEST(PlanRoll, C2_PodsOfAnothersDaemonSetAreNeverOutdated) {
  Observed observed = Outdated();
  api::DaemonSet theirs = observed.children.daemon_sets[0];
  theirs.meta.uid = "theirs";
  theirs.meta.key.ns = fixtures::kOldDriverNs;
  theirs.template_hash.clear();
  observed.children.daemon_sets.push_back(theirs);
  for (DaemonPod& pod : observed.children.daemon_pods) pod.meta.owners[0].uid = "theirs";
  EXPECT_EQ(Replaced(observed), Names());
  EXPECT_TRUE(FindOutdated(observed).empty());
}

// ---- One after the other.

// node-0 was replaced so long ago; its new pod serves, and status says so.
Observed Replacing(std::chrono::seconds ago) {
  Observed observed = Outdated();
  observed.children.daemon_pods[0].meta.uid = "pod-new";
  observed.children.daemon_pods[0].template_hash = "new";
  observed.memory.replacements[kCliqueId] = {
      .node = "node-0", .replaced = "pod-node-0", .began = Now().monotonic - ago};
  return observed;
}

TEST(FindReplacements, K8_ReplacementServesOnceItsPodAndStatusSaySo) {
  struct Row {
    const char* what;
    void (*change)(Observed&);
    bool serves;
  };
  const std::vector<Row> rows = {
      {"both do", [](Observed&) {}, true},
      {"its pod does not", [](Observed& o) { o.children.daemon_pods[0].ready = false; }, false},
      {"the old pod does", [](Observed& o) { o.children.daemon_pods[0].meta.uid = "pod-node-0"; },
       false},
      {"status does not", [](Observed& o) { o.domain->status.nodes[0].ready = false; }, false},
  };
  for (const Row& row : rows) {
    Observed observed = Replacing(std::chrono::seconds(1));
    row.change(observed);
    const auto found = FindReplacements(observed, Now().monotonic);
    ASSERT_EQ(found.size(), 1U) << row.what;
    EXPECT_EQ(found.begin()->second.serves_since.has_value(), row.serves) << row.what;
  }
}

TEST(FindReplacements, K8_ReplacementHasSettledAfterItsTime) {
  Observed observed = Replacing(std::chrono::seconds(20));
  for (const auto& [served, under_way] :
       {std::pair{std::chrono::seconds(9), 1U}, std::pair{std::chrono::seconds(10), 0U}}) {
    observed.memory.replacements[kCliqueId].serves_since = Now().monotonic - served;
    EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), under_way);
  }
}

TEST(FindReplacements, K8_DaemonThatIsStillThere_IsReplacedAgain) {
  for (const auto& [began, under_way] :
       {std::pair{std::chrono::seconds(9), 1U}, std::pair{std::chrono::seconds(10), 0U}}) {
    Observed observed = Replacing(began);
    api::DaemonPod& pod = observed.children.daemon_pods[0];
    pod.meta.uid = "pod-node-0";
    EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), under_way);
    pod.meta.deleting = true;
    EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), 1U) << "it ends";
  }
}

TEST(FindReplacements, C5_NodeThatTheDomainHasLeftIsWaitedForNoMore) {
  Observed observed = Replacing(std::chrono::seconds(1));
  observed.children.daemon_pods.erase(observed.children.daemon_pods.begin());
  EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), 1U) << "its label is there";
  observed.children.labelled_nodes.clear();
  EXPECT_TRUE(FindReplacements(observed, Now().monotonic).empty());
}

TEST(PlanRoll, K8_NobodyIsReplacedBeforeTheLastReplacementHasSettled) {
  Observed observed = Replacing(std::chrono::seconds(5));
  EXPECT_EQ(Replaced(observed), Names());
  observed.memory.replacements.clear();
  EXPECT_EQ(Replaced(observed), Names{"daemon-node-1"});
}

// ---- A template that does not work.

TEST(PlanRoll, C5_ReplacementThatDoesNotServeInTimeFails) {
  Observed observed = Replacing(std::chrono::seconds(299));
  observed.children.daemon_pods[0].ready = false;
  const Rollout waits = RollOf(observed);
  EXPECT_EQ(waits.failed, "");
  EXPECT_EQ(waits.requeue_after, std::chrono::seconds(1));
  observed.memory.replacements[kCliqueId].began -= std::chrono::seconds(1);
  EXPECT_NE(RollOf(observed).failed.find("node-0"), std::string::npos);
}

// The pod on node-1 is of a template that was changed, and does not serve.
DaemonPod& MakeFromNewTemplate(Observed& observed) {
  observed.children.daemon_sets[0].template_generation = 2;
  DaemonPod& made = observed.children.daemon_pods[1];
  made.template_hash = "new";
  made.ready = false;
  return made;
}

TEST(PlanRoll, C5_PodOfANewJobIsAReplacementToo) {
  Observed observed = Outdated();
  DaemonPod& made = MakeFromNewTemplate(observed);
  made.trouble = "ImagePullBackOff";
  EXPECT_NE(RollOf(observed).failed.find("ImagePullBackOff"), std::string::npos);
  made.meta.creation_timestamp = "2026-01-01T11:56:00Z";
  EXPECT_EQ(RollOf(observed).failed, "") << "it may be starting";
  made.meta.creation_timestamp = "2026-01-01T11:00:00Z";
  observed.children.daemon_pods[0].template_hash = "new";
  EXPECT_EQ(RollOf(observed).failed, "") << "another serves: the template does";
  observed = Outdated();
  observed.children.daemon_pods[1].ready = false;
  EXPECT_EQ(RollOf(observed).failed, "") << "it is an old one";
}

TEST(PlanRoll, REV3_F16_ClockThatIsAheadFailsNoPodThatThisProcessSawCome) {
  Observed observed = Outdated();
  DaemonPod& made = MakeFromNewTemplate(observed);
  made.meta.creation_timestamp = "2026-01-01T11:00:00Z";  // An hour ago, by our wall clock.
  auto& since = observed.memory.unready_since[made.meta.uid];
  since = Now().monotonic - std::chrono::seconds(299);
  EXPECT_EQ(RollOf(observed).failed, "");
  EXPECT_EQ(RollOf(observed).requeue_after, std::chrono::seconds(1));
  *since -= std::chrono::seconds(1);
  EXPECT_NE(RollOf(observed).failed, "");
  *since += std::chrono::seconds(9);
  since.reset();
  EXPECT_NE(RollOf(observed).failed, "") << "it was there when this process began";
}

TEST(PlanRoll, C5_NobodyIsReplacedWhereSomebodyElseHasFailed) {
  Observed observed = Outdated();
  observed.facts.cluster.rollout_stopped = "The daemon on node-77 does not serve.";
  EXPECT_EQ(Replaced(observed), Names());
}

TEST(PlanRoll, C5_OnlyAPodThatShouldServeCanFail) {
  struct Row {
    const char* what;
    void (*change)(Observed&, DaemonPod&);
  };
  const std::vector<Row> rows = {
      {"of another template", [](Observed&, DaemonPod& pod) { pod.template_hash = "old"; }},
      {"a copy", [](Observed&, DaemonPod& pod) { pod.meta.owners.clear(); }},
      {"of another set", [](Observed&, DaemonPod& pod) { pod.meta.owners[0].uid = "theirs"; }},
      {"ended", [](Observed&, DaemonPod& pod) { pod.terminal = true; }},
      {"ending", [](Observed&, DaemonPod& pod) { pod.meta.deleting = true; }},
      {"on a node that is lost", [](Observed& o, DaemonPod&) { o.nodes["node-1"].ready = false; }},
      {"of no age", [](Observed&, DaemonPod& pod) { pod.meta.creation_timestamp.clear(); }},
      {"of a template that was never changed",
       [](Observed& o, DaemonPod&) { o.children.daemon_sets[0].template_generation = 1; }},
      {"of a set that is not ours",
       [](Observed& o, DaemonPod& pod) {
         pod.template_hash.clear();
         o.children.daemon_sets[0].template_hash.clear();
       }},
  };
  for (const Row& row : rows) {
    Observed observed = Outdated();
    DaemonPod& made = MakeFromNewTemplate(observed);
    EXPECT_NE(RollOf(observed).failed.find("pods/cdom-system/daemon-node-1 on node-1, created"),
              std::string::npos);
    row.change(observed, made);
    EXPECT_EQ(RollOf(observed).failed, "") << row.what;
  }
}

TEST(PlanRoll, C5_ReplacementOnANodeThatIsLostFailsNobody) {
  Observed observed = Replacing(std::chrono::seconds(400));
  observed.children.daemon_pods[0].ready = false;
  EXPECT_NE(RollOf(observed).failed, "");
  observed.nodes["node-0"].ready = false;
  EXPECT_EQ(RollOf(observed).failed, "");
}

// Its pod was deleted, and then the node fell silent: the pod stays in Terminating.
TEST(FindReplacements, REV4_K6_LostNodeGivesItsPlaceBackAfterTheDeadline) {
  for (const int seconds : {299, 300}) {
    Observed observed = Replacing(std::chrono::seconds(seconds));
    DaemonPod& pod = observed.children.daemon_pods[0];
    observed.memory.replacements[kCliqueId].replaced = pod.meta.uid;
    fixtures::Delete(pod.meta, {});
    pod.ready = false;
    observed.nodes["node-0"].ready = false;
    const bool keeps = seconds < 300;
    EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), keeps ? 1U : 0U);
    // Nothing else would start the pass that gives it back.
    if (keeps) {
      EXPECT_EQ(RollOf(observed).requeue_after, std::chrono::seconds(1));
    }
  }
}

TEST(FindReplacements, REV4_K6_NodeThatIsThereKeepsItsPlaceAfterTheDeadline) {
  Observed observed = Replacing(std::chrono::seconds(300));
  observed.children.daemon_pods[0].ready = false;
  EXPECT_EQ(FindReplacements(observed, Now().monotonic).size(), 1U);
}

TEST(PlanRoll, K8_ReplacementThatServesIsLookedAtWhenItHasSettled) {
  Observed observed = Replacing(std::chrono::seconds(20));
  observed.memory.replacements[kCliqueId].serves_since = Now().monotonic - std::chrono::seconds(7);
  EXPECT_EQ(RollOf(observed).requeue_after, std::chrono::seconds(3));
  observed.memory.replacements[kCliqueId].serves_since = Now().monotonic - std::chrono::seconds(10);
  EXPECT_EQ(RollOf(observed).requeue_after, std::chrono::milliseconds(1));
}

TEST(FindReplacements, C5_DomainThatGoesReplacesNobody) {
  Observed observed = Replacing(std::chrono::seconds(1));
  observed.domain->meta.deleting = true;
  EXPECT_TRUE(FindReplacements(observed, Now().monotonic).empty());
  observed.domain.reset();
  EXPECT_TRUE(FindReplacements(observed, Now().monotonic).empty());
}

TEST(PlanRoll, C5_ClaimKeepsTheCliqueOfItsNodeAndNoOther) {
  struct Row {
    const char* what;
    void (*change)(Observed&);
    Names replaced;
  };
  const std::vector<Row> rows = {
      {"on a node of another clique, as its label says",
       [](Observed& o) {
         o.children.claims[0].node = "node-9";
         o.nodes["node-9"] = fixtures::MakeNode("node-9");
         o.nodes["node-9"].clique = kOtherCliqueId;
       },
       {"daemon-node-0"}},
      {"on a node that says nothing",
       [](Observed& o) {
         o.children.claims[0].node = "node-9";
         o.nodes["node-9"] = fixtures::MakeNode("node-9");
         o.nodes["node-9"].clique.clear();
       },
       {}},
      {"not allocated yet",
       [](Observed& o) { o.children.claims[0].node.clear(); },
       {"daemon-node-0"}},
      {"of another namespace",
       [](Observed& o) { o.children.claims[0].meta.key.ns = "team-b"; },
       {"daemon-node-0"}},
  };
  for (const Row& row : rows) {
    Observed observed = OutdatedByDefault();
    observed.children.claims = {fixtures::MakeChannelClaim("node-0", "train-0")};
    row.change(observed);
    EXPECT_EQ(Replaced(observed), row.replaced) << row.what;
  }
}

TEST(PlanRoll, REV3_F6_PodThatIsDueWaitsForRoomAndReadsNothing) {
  Observed observed = Outdated();
  observed.facts.cluster.rollout_has_room = false;
  const Rollout rollout = RollOf(observed);
  EXPECT_TRUE(rollout.waits_for_room);
  EXPECT_EQ(rollout.requeue_after, std::chrono::minutes(5)) << "if nobody wakes it";
  EXPECT_TRUE(rollout.actions.empty() && !rollout.needs_daemons);
}

// The reply to its deletion was lost.
TEST(PlanRoll, REV3_F7_PodThatShouldHaveGoneAndIsThereIsReplacedAgain) {
  Observed observed = Outdated();
  observed.facts.cluster.rollout_has_room = false;  // It has its place already.
  const DaemonPod& pod = observed.children.daemon_pods[0];
  observed.memory.replacements[kCliqueId] = {
      .node = pod.node, .replaced = pod.meta.uid, .began = Now().monotonic};
  EXPECT_EQ(Replaced(observed), Names{pod.meta.key.name});
  observed.children.daemon_pods[0].meta.deleting = true;
  EXPECT_TRUE(Replaced(observed).empty()) << "it goes";
}

TEST(PlanRoll, PodsStayWhileTheirDaemonSetIsNotAsItShouldBe) {
  Observed observed = Outdated();
  observed.memory.rendered.daemon_set = "newer";
  EXPECT_TRUE(Replaced(observed).empty());
  EXPECT_TRUE(FindOutdated(observed).empty());
  observed.memory.rendered.daemon_set = observed.children.daemon_sets[0].template_hash;
  EXPECT_FALSE(Replaced(observed).empty());
}

}  // namespace
}  // namespace compute_domain

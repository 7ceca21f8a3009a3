#include "controller/compute_domain/roll.h"

#include <gtest/gtest.h>

#include <set>

#include "controller/compute_domain/membership.h"
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

// Both daemons were made from an older template.
Observed Outdated() {
  Observed observed = Converged();
  observed.children.daemon_sets[0].template_hash = "new";
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
  return observed;
}

Roll RollOf(const Observed& observed) {
  return PlanRoll(observed, PlanMembership(observed, Now()));
}

// The pods that go, where a live read shows what the cache does.
Names Replaced(Observed observed) {
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  Names names;
  for (const Delete& action : Actions<Delete>(RollOf(observed).actions)) {
    EXPECT_EQ(action.kind, Kind::kDaemonPod);
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
  EXPECT_FALSE(RollOf(observed).needs_daemon_pods);
  EXPECT_TRUE(Replaced(observed).empty());
  EXPECT_TRUE(FindOutdated(observed).empty());
}

TEST(PlanRoll, PodsOfADaemonSetThatSomebodyElseMadeStay) {
  Observed observed = Outdated();
  observed.children.daemon_sets[0].template_hash.clear();
  EXPECT_FALSE(RollOf(observed).needs_daemon_pods);
  EXPECT_TRUE(Replaced(observed).empty());
}

TEST(PlanRoll, R2_NoPodGoesBeforeALiveRead) {
  const Roll roll = RollOf(Outdated());
  EXPECT_TRUE(roll.needs_daemon_pods);
  EXPECT_TRUE(roll.actions.empty());
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

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/status/debug_page.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

TEST(Describe, P13_NamesEverybodyHoweverMany) {
  Observed observed = fixtures::Converged();
  for (int i = 0; i < 20; ++i) {
    observed.children.claims[0].consumers.push_back("pods/more-" + std::to_string(i));
  }
  for (int i = 0; i < 20; ++i) {
    const std::string pod = "late-" + std::to_string(i);
    observed.children.claims.push_back(fixtures::MakeWaitingClaim(pod));
    if (i > 0) observed.memory.scheduler_messages[pod] = "Unschedulable: no node";
  }
  observed.nodes["node-1"].domain = fixtures::kOtherUid;
  observed.memory.silent_since["node-1"] = fixtures::Now().monotonic - std::chrono::minutes(1);
  observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-7"));
  const json::Value described = DescribeDomain(observed, fixtures::Now());
  EXPECT_EQ(described["name"].AsString(), "train");
  EXPECT_EQ(described["namespace"].AsString(), fixtures::kUserNs);
  EXPECT_EQ(described["uid"].AsString(), fixtures::kUid);
  EXPECT_EQ(described["users"].items().size(), 22U);
  EXPECT_EQ(described["waiting"].items().size(), 20U);
  EXPECT_EQ(described["waiting"].items().at(0).AsString(), "pods/late-0");
  EXPECT_EQ(described["waiting"].items().at(1).AsString(), "pods/late-1 (Unschedulable: no node)");
  EXPECT_EQ(described["heldByOthers"].items().size(), 1U);
  EXPECT_EQ(described["idleNodes"].items().size(), 1U);
  EXPECT_EQ(described["idleNodes"].items()[0].AsString(), "node-7");
  EXPECT_EQ(described["nodesWithoutPlugin"].items()[0].AsString(), "node-1");
  EXPECT_EQ(described["status"]["members"].AsString(), "2/2");
}

TEST(Describe, G3_NamesWhatLiesInOtherNamespacesAsStatusDoesNot) {
  Observed observed = fixtures::Converged();
  observed.nodes["node-1"].domain = fixtures::kOtherUid;
  observed.others.domains = {{fixtures::kOtherUid, "team-b/other"}};
  const json::Value described = DescribeDomain(observed, fixtures::Now());
  EXPECT_EQ(described["heldByOthers"].items()[0].AsString(), "node-1 (by team-b/other)");
}

TEST(Describe, REV4_P12_AdviceIsAValue) {
  Observed observed = fixtures::Converged();
  EXPECT_TRUE(DescribeDomain(observed, fixtures::Now())["advice"].IsNull());
  observed.children.claims.push_back(fixtures::MakeWaitingClaim("late"));
  observed.memory.scheduler_messages["late"] = api::kSchedulerLacksDevice;
  observed.others.surveys = {
      {.pods = {observed.children.claims.back().meta.owners.front()}, .holders = {"team-b/other"}}};
  EXPECT_EQ(json::Serialize(DescribeDomain(observed, fixtures::Now())["advice"]),
            R"({"do":"WaitForDomains","objects":["team-b/other"],"number":0})");
}

TEST(CliqueDescription, G21_EachCliqueHasItsNodesWithWhoHoldsThemOrWhyTheyAreOfNoUse) {
  const auto node = [](const char* name, const char* clique) {
    api::Node made = fixtures::MakeNode(name, "");
    made.clique = clique;
    return made;
  };
  CliqueDescription description;
  using State = NodeAvailability::State;
  description.Add(node("n0", "b.0"), {.state = State::kHeld}, "team-a/train");
  description.Add(node("n1", "b.0"), {.state = State::kUnusable, .why = "cordoned"}, "");
  description.Add(node("n2", "a.0"), {}, "");
  EXPECT_EQ(json::Serialize(description.Take()),
            R"([{"clique":"a.0","free":1,"reserved":0,"held":0,"unusable":0,"nodes":[)"
            R"({"name":"n2","state":"free","domain":"","why":""}]},)"
            R"({"clique":"b.0","free":0,"reserved":0,"held":1,"unusable":1,"nodes":[)"
            R"({"name":"n0","state":"held","domain":"team-a/train","why":""},)"
            R"({"name":"n1","state":"unusable","domain":"","why":"cordoned"}]}])");
}

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/status/explanation/clique_capacity.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/shortage.h"
#include "controller/compute_domain/status/status.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::kCliqueId;
using fixtures::kOtherCliqueId;
using fixtures::Now;

api::Node NodeOfClique(const std::string& clique = kCliqueId) {
  api::Node node = fixtures::MakeNode("node-7", "");
  node.clique = clique;
  return node;
}

// "state: why"; empty: it does not count.
std::string AvailabilityOfNode(const api::Node& node, const NodeContext& context,
                               Freshness slices = Freshness::kFresh) {
  Facts facts = fixtures::MakeFacts();
  facts.views.freshness[Kind::kResourceSlice] = slices;
  const auto availability = AvailabilityOf(node, context, facts);
  if (!availability) return "";
  return std::string(ToString(availability->state)) + ": " + availability->why;
}

TEST(RoomOf, G21_NodeOfACliqueIsHeldUnusableOrFree) {
  api::Node node = NodeOfClique();
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true}), "free: ");
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true, .fabric_error = "gpu-3"}),
            "unusable: fabric error: gpu-3");
  EXPECT_EQ(AvailabilityOfNode(node, {.has_channel = true, .publishes = true}),
            "held: its channel is claimed");
  node.taints = {"example.com/dedicated"};
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true}), "free: ")
      << "GPU nodes mostly have some taint";
  node.taints = {"karpenter.sh/disrupted"};
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true}),
            "unusable: taint karpenter.sh/disrupted");
  node.unschedulable = true;
  node.taints.clear();
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true}), "unusable: cordoned");
  node.ready = false;
  EXPECT_EQ(AvailabilityOfNode(node, {.publishes = true}), "unusable: not ready");
  node.domain = fixtures::kUid;
  EXPECT_EQ(AvailabilityOfNode(node, {}), "held: ")
      << "a broken node that a domain holds is no room lost";
}

TEST(RoomOf, G21_NodeWithoutAPluginIsUnusableWherePluginsAreSeen) {
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(), {}), "unusable: no kubelet plugin");
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(), {}, Freshness::kStale), "free: ");
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(), {}, Freshness::kUnknown), "free: ");
}

TEST(RoomOf, NodeWithoutFabricCountsIfTheDriverIsThere) {
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(""), {}), "");
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(""), {.publishes = true}), "free: ");
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(""), {.has_channel = true}),
            "held: its channel is claimed");
}

TEST(RoomOf, G26_FreeNodeOfACliqueThatADomainKeepsToItselfIsReserved) {
  const NodeContext context = {.publishes = true, .reserved_for = "team-a/train"};
  EXPECT_EQ(AvailabilityOfNode(NodeOfClique(), context),
            "reserved: its clique is reserved for team-a/train");
  api::Node node = NodeOfClique();
  node.ready = false;
  EXPECT_EQ(AvailabilityOfNode(node, context), "unusable: not ready");
  node.domain = fixtures::kUid;
  EXPECT_EQ(AvailabilityOfNode(node, context), "held: ");
}

TEST(Count, EachStateIsCountedByClique) {
  CliqueCapacities capacity;
  using State = NodeAvailability::State;
  for (const State state :
       {State::kFree, State::kFree, State::kReserved, State::kHeld, State::kUnusable}) {
    Count("a", {.state = state}, capacity);
  }
  Count("b", {}, capacity);
  EXPECT_EQ(capacity, (CliqueCapacities{{"a", {.free = 2, .reserved = 1, .held = 1, .unusable = 1}},
                                        {"b", {.free = 1}}}));
}

// Of a domain whose pods are to be in one clique: two are, and as many wait as are asked for, with
// these free nodes left there.
Observed Placed(int waiting, int free) {
  Observed observed = fixtures::Converged();
  observed.domain->placement = std::string(api::kPlacementClique);
  for (auto& [name, node] : observed.nodes) node.clique = kCliqueId;
  for (api::Node& node : observed.children.labelled_nodes) node.clique = kCliqueId;
  for (int i = 0; i < waiting; ++i) {
    const std::string pod = "train-" + std::to_string(2 + i);
    observed.children.claims.push_back(fixtures::MakeWaitingClaim(pod));
    observed.memory.scheduler_messages[pod] =
        "Unschedulable: node(s) didn't match pod affinity rules";
  }
  fixtures::EditCapacity(observed) = {{"", {.free = 9}},
                                      {kCliqueId, {.free = free, .held = 2, .unusable = 1}},
                                      {kOtherCliqueId, {.free = 5}}};
  return observed;
}

const std::string kFreeNodes =
    " Free nodes by clique: " + kOtherCliqueId + " 5 of 5, " + kCliqueId + " 1 of 4 (1 unusable).";

TEST(SayRooms, G22_FreeNodesAreSaidByCliqueTheMostFirst) {
  EXPECT_EQ(DescribeCapacity(Placed(2, 1)), kFreeNodes);
}

TEST(SayRooms, G26_CliqueThatAnotherDomainKeepsToItselfHasNoRoomForAPlacedDomain) {
  Observed observed = Placed(2, 1);
  CliqueCapacity& kept = fixtures::EditCapacity(observed)[kOtherCliqueId];
  kept = {.reserved = 5,
          .unusable = 1,
          .placement = {.domain_uids = {fixtures::kOtherUid}, .exclusive = fixtures::kOtherUid}};
  EXPECT_EQ(DescribeCapacity(observed), " Free nodes by clique: " + kCliqueId +
                                            " 1 of 4 (1 unusable), " + kOtherCliqueId +
                                            " 0 of 6 (5 reserved, 1 unusable).");
  kept.placement = {.domain_uids = {observed.uid}, .exclusive = observed.uid};
  EXPECT_EQ(DescribeCapacity(observed), " Free nodes by clique: " + kOtherCliqueId +
                                            " 5 of 6 (1 unusable), " + kCliqueId +
                                            " 1 of 4 (1 unusable).")
      << "its own";
  kept.placement = {.domain_uids = {fixtures::kOtherUid}, .exclusive = fixtures::kOtherUid};
  observed.domain->placement.clear();
  EXPECT_NE(DescribeCapacity(observed).find(kOtherCliqueId + " 5 of 6"), std::string::npos)
      << "nothing keeps the pods of a domain that is not placed out";
}

TEST(SayRooms, G26_CliqueWithAnotherPlacedDomainHasNoRoomForAnExclusiveOne) {
  Observed observed = Placed(2, 1);
  fixtures::EditCapacity(observed)[kOtherCliqueId].placement.domain_uids = {fixtures::kOtherUid};
  EXPECT_NE(DescribeCapacity(observed).find(kOtherCliqueId + " 5 of 5"), std::string::npos);
  observed.domain->placement = std::string(api::kPlacementExclusive);
  EXPECT_NE(DescribeCapacity(observed).find(kOtherCliqueId + " 0 of 5 (5 reserved)"),
            std::string::npos);
  // Of its own it is as good as free.
  fixtures::EditCapacity(observed)[kOtherCliqueId].placement.domain_uids = {observed.uid};
  EXPECT_NE(DescribeCapacity(observed).find(kOtherCliqueId + " 5 of 5,"), std::string::npos);
}

TEST(SayRooms, NothingIsSaidWhereNothingIsKnown) {
  EXPECT_EQ(DescribeCapacity(fixtures::Converged()), "");
}

TEST(AsksForRooms, OnlyWhoWaitsAndWasLookedAtAsks) {
  EXPECT_FALSE(NeedsCapacity(fixtures::Converged()));
  Observed observed = Placed(1, 1);
  EXPECT_TRUE(NeedsCapacity(observed));
  observed.memory.scheduler_messages.clear();
  EXPECT_FALSE(NeedsCapacity(observed)) << "the scheduler may be at work";

  Observed spread = fixtures::Converged();
  spread.nodes["node-0"].clique = kCliqueId;
  spread.nodes["node-1"].clique = kOtherCliqueId;
  EXPECT_TRUE(NeedsCapacity(spread)) << "which may be too many for one clique";
  spread.domain->placement_group = "example.com/rank";
  EXPECT_FALSE(NeedsCapacity(spread));
  spread.domain->placement_group.clear();
  spread.domain->placement = std::string(api::kPlacementAny);
  EXPECT_FALSE(NeedsCapacity(spread));
}

TEST(FindFullClique, G22_PodsThatCannotFollowTheFirstOnesIntoTheirCliqueAreToldSo) {
  const auto full = FindFullClique(Placed(2, 1));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->reason, "NoRoomInClique");
  EXPECT_EQ(full->message,
            "The pods of this domain are in clique " + kCliqueId +
                ", where cdom.dev/placement keeps them together; nodes free there: 1, pods that "
                "wait: 2. Wait for nodes there, or start the job again, so that it begins in a "
                "clique that has 4 free nodes, such as " +
                kOtherCliqueId + ".");
}

TEST(FindFullClique, REV3_W6_OfCliquesWithRoom_TheFirstIsNamed) {
  Observed observed = Placed(2, 1);
  fixtures::EditCapacity(observed)["z"] = {.free = 9};
  EXPECT_TRUE(FindFullClique(observed)->message.ends_with("such as " + kOtherCliqueId + "."));
}

// The advice, which comes last.
std::string AdviceFor(const Observed& observed) {
  const std::string message = FindFullClique(observed)->message;
  return message.substr(message.find("wait: ") + std::string("wait: 2. ").size());
}

TEST(FindFullClique, REV3_W6_JobThatNoCliqueCanHold_IsToldSo) {
  EXPECT_EQ(AdviceFor(Placed(4, 1)),
            "No clique has 6 nodes (largest: 5): run at most 5 pods, or remove the label "
            "cdom.dev/placement and start the job again.");
  EXPECT_EQ(AdviceFor(Placed(3, 1)).substr(0, 19), "Wait for nodes ther") << "5 of 5 are enough";
}

TEST(FindFullClique, REV3_W6_JobThatNoOtherCliqueCanHoldNow_Waits) {
  Observed observed = Placed(2, 1);
  fixtures::EditCapacity(observed)[kOtherCliqueId] = {.free = 3, .held = 2};
  EXPECT_EQ(AdviceFor(observed), "Wait for nodes there: no other clique has 4 free nodes now.");
  observed = Placed(2, 1);
  fixtures::EditCapacity(observed)[kOtherCliqueId].placement = {
      .domain_uids = {fixtures::kOtherUid}, .exclusive = fixtures::kOtherUid};
  EXPECT_EQ(AdviceFor(observed), "Wait for nodes there: no other clique has 4 free nodes now.")
      << "another domain has it to itself";
}

TEST(FindFullClique, REV4_P12_NodesOnWhichThePodsMayNotRunAreNoRoom) {
  const auto says = [](const NodeSurvey& survey) {
    const auto full = FindFullClique(Placed(2, 1), &survey);
    return full ? full->message.substr(full->message.find("nodes free")) : "";
  };
  NodeSurvey survey = {.cliques = {{kOtherCliqueId, {.nodes = 4, .free = 3}}}};
  EXPECT_NE(says(survey).find("nodes free there: 1, "), std::string::npos) << "all nodes count";
  survey.reach = std::make_shared<const PodReach>(PodReach{.nodes = std::set<std::string>{"a"}});
  EXPECT_EQ(says(survey),
            "nodes free there where these pods may run: 0, pods that wait: 2. Wait for nodes "
            "there: no other clique has 4 free nodes where these pods may run now.");
  survey.cliques[kCliqueId] = {.nodes = 9, .free = 2};
  EXPECT_EQ(says(survey), "") << "there is room";
  survey.cliques[kCliqueId].free = 1;
  survey.cliques[kOtherCliqueId].free = 4;
  EXPECT_TRUE(says(survey).ends_with("4 free nodes where these pods may run, such as " +
                                     kOtherCliqueId + "."));
  survey.cliques = {{kCliqueId, {.nodes = 2}}};
  EXPECT_NE(says(survey).find("No clique has 4 nodes where these pods may run (largest: 2): run "
                              "at most 2 pods"),
            std::string::npos);
  survey.reach = std::make_shared<const PodReach>();
  EXPECT_NE(says(survey).find("No clique has 4 nodes (largest: 2)"), std::string::npos)
      << "taints alone keep pods away";
}

TEST(FindFullClique, G22_CliqueWithRoomForAllThatWaitIsNotFull) {
  EXPECT_FALSE(FindFullClique(Placed(2, 2)));
}

TEST(FindFullClique, G26_NodesOfTheCliqueThatADomainHasToItselfAreFreeForItsPods) {
  Observed observed = Placed(2, 0);
  observed.domain->placement = std::string(api::kPlacementExclusive);
  CliqueCapacity& own = fixtures::EditCapacity(observed)[kCliqueId];
  own.reserved = 2;
  own.placement = {.domain_uids = {observed.uid}, .exclusive = observed.uid};
  EXPECT_FALSE(FindFullClique(observed));
}

TEST(FindFullClique, OnlyOneCliqueThatWasAskedForCanBeFull) {
  const std::vector<std::pair<const char*, void (*)(Observed&)>> rows = {
      {"not placed", [](Observed& o) { o.domain->placement.clear(); }},
      {"each group has a clique", [](Observed& o) { o.domain->placement_group = "group"; }},
      {"used in two", [](Observed& o) { o.nodes["node-1"].clique = fixtures::kOtherCliqueId; }},
      {"nobody uses it yet", [](Observed& o) { fixtures::EndWorkload(o.children.claims); }},
      {"its nodes are of no clique",
       [](Observed& o) {
         for (auto& [name, node] : o.nodes) node.clique.clear();
       }},
      {"its nodes are unknown", [](Observed& o) { o.nodes.clear(); }},
      {"nobody counted it",
       [](Observed& o) { fixtures::EditCapacity(o).erase(fixtures::kCliqueId); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Placed(2, 1);
    change(observed);
    EXPECT_FALSE(FindFullClique(observed));
  }
}

TEST(FindFullClique, NodeThatTheDomainHoldsAndDoesNotUseIsFreeForItAlone) {
  const std::vector<std::tuple<const char*, bool, void (*)(api::Node&)>> rows = {
      {"usable", true, [](api::Node&) {}},
      {"in another clique", false, [](api::Node& n) { n.clique = fixtures::kOtherCliqueId; }},
      {"not ready", false, [](api::Node& n) { n.ready = false; }},
      {"cordoned", false, [](api::Node& n) { n.unschedulable = true; }},
  };
  for (const auto& [what, has_room, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Placed(2, 1);
    api::Node idle = fixtures::MakeNode("node-2");
    idle.clique = kCliqueId;
    change(idle);
    observed.children.labelled_nodes.push_back(std::move(idle));
    EXPECT_EQ(!FindFullClique(observed), has_room);
  }
}

TEST(FindShortage, G22_FullCliqueIsFoundThoughNoWordOfTheSchedulerNamesAChannel) {
  const auto shortage = FindShortage(Placed(2, 1));
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->reason, "NoRoomInClique");
}

TEST(FindShortage, G22_FullCliqueIsSaidRatherThanThatChannelsAreTaken) {
  Observed observed = Placed(2, 1);
  for (auto& [pod, messages] : observed.memory.scheduler_messages)
    messages = "cannot allocate all claims";
  EXPECT_EQ(FindShortage(observed)->reason, "NoRoomInClique");
  observed.others.surveys = {{.pods = FindPodsWithoutChannel(observed),
                              .claims = {fixtures::MakeChannelClaim("node-9", "stray")}}};
  EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim")
      << "somebody can do something about that";
}

TEST(DecideStatus, G22_DomainThatDoesNotFitSaysSoWithTheFreeNodesByCliqueUntilItDoes) {
  Observed observed = Placed(2, 1);
  const auto condition = [&](const char* type) { return *fixtures::StatusOf(observed).Find(type); };
  EXPECT_EQ(condition("Ready").reason, "NoRoomInClique");
  EXPECT_EQ(condition("Ready").status, "False");
  EXPECT_EQ(condition("InUse").reason, "NoRoomInClique");
  EXPECT_TRUE(condition("InUse").message.ends_with(kFreeNodes)) << condition("InUse").message;
  fixtures::EditCapacity(observed)[kCliqueId].free = 2;
  EXPECT_EQ(condition("InUse").reason, "ClaimsReserved");
}

}  // namespace
}  // namespace compute_domain

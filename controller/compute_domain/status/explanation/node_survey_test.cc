#include "controller/compute_domain/status/explanation/node_survey.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::kCliqueId;
using fixtures::kOtherUid;
using fixtures::kUid;
using Names = std::vector<std::string>;

// train-2 waits for a channel, and may run on these nodes.
Observed Lacking(std::optional<std::set<std::string>> nodes = {},
                 std::set<api::Toleration> tolerations = {}) {
  Observed observed = fixtures::Converged();
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  observed.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
  observed.memory.reach["train-2"] = std::make_shared<const PodReach>(
      PodReach{.nodes = std::move(nodes), .tolerations = std::move(tolerations)});
  return observed;
}

api::Node Node(const std::string& name, const std::string& domain = "",
               const std::string& clique = kCliqueId) {
  api::Node node = fixtures::MakeNode(name, domain);
  node.clique = clique;
  return node;
}

api::ResourceClaim ClaimOn(const std::string& node, const std::string& name) {
  api::ResourceClaim claim = fixtures::MakeChannelClaim(node, name);
  claim.channel_domain.clear();
  claim.has_channel = true;
  return claim;
}

const NodeContext kWithPlugin = {.publishes = true};

class Surveying {
 public:
  explicit Surveying(Observed observed, const std::vector<api::ResourceClaim>& unrelated = {})
      : observed_(std::move(observed)), surveyor_(observed_, unrelated, [](const auto& uid) {
          return uid == kOtherUid ? std::string("team-b/other") : std::string();
        }) {}
  Surveying& Add(const api::Node& node, const NodeContext& context = kWithPlugin) {
    surveyor_.Add(node, context);
    return *this;
  }
  std::vector<NodeSurvey> All() { return surveyor_.Take(); }
  NodeSurvey One() { return All().at(0); }

 private:
  const Observed observed_;
  NodeSurveyor surveyor_;
};

TEST(NodeSurveyor, WithoutAPodThatLacksAChannelThereIsNothingToSurvey) {
  EXPECT_TRUE(Surveying(fixtures::Converged()).Add(Node("node-5")).All().empty());
}

TEST(NodeSurveyor, EachNodeCountsByWhatKeepsThePodFromIt) {
  const NodeSurvey survey = Surveying(Lacking())
                                .Add(Node("a", kUid))
                                .Add(Node("b", kOtherUid))
                                .Add(Node("c", "of-a-domain-that-is-gone"))
                                .Add(Node("d"))
                                .Add(Node("e"), {.has_channel = true, .publishes = true})
                                .Add(Node("f"), {})
                                .Add(Node("g", "", ""), {})
                                .One();
  EXPECT_EQ(survey.own, 1);
  EXPECT_EQ(survey.holders, std::set<std::string>{"team-b/other"});
  EXPECT_EQ(survey.free, 1) << "d";
  EXPECT_EQ(survey.without_plugin, Names{"f"}) << "g is no GPU node, as far as labels say";
  EXPECT_EQ(survey.publishing, 5);
  EXPECT_EQ(survey.pods.at(0).name, "train-2");
}

TEST(NodeSurveyor, REV4_P12_OnlyNodesThatThePodSelectsCount) {
  const NodeSurvey survey =
      Surveying(Lacking(std::set<std::string>{"node-7"}), {ClaimOn("node-3", "x")})
          .Add(Node("node-3"))
          .Add(Node("node-5", kOtherUid))
          .Add(Node("node-7", "", ""), {})
          .One();
  EXPECT_EQ(survey.free, 0);
  EXPECT_TRUE(survey.claims.empty());
  EXPECT_TRUE(survey.holders.empty());
  EXPECT_EQ(survey.without_plugin, Names{"node-7"}) << "the pod wants it, whatever its labels say";
}

TEST(NodeSurveyor, REV4_P12_CliquesHaveTheNodesThatThePodMayRunOn) {
  api::Node lost = Node("lost");
  lost.ready = false;
  const NodeSurvey survey =
      Surveying(Lacking(std::set<std::string>{"a", "b", "c", "lost", "away", "plain"}))
          .Add(Node("a"))
          .Add(Node("b", kOtherUid))
          .Add(Node("c"), {.publishes = true, .reserved_for = "team-b/other"})
          .Add(lost)
          .Add(Node("d"))
          .Add(Node("away", "", "c9.0"))
          .Add(Node("plain", "", ""))
          .One();
  EXPECT_EQ(survey.cliques.size(), 2U);
  EXPECT_EQ(survey.cliques.at(kCliqueId).nodes, 4);
  EXPECT_EQ(survey.cliques.at(kCliqueId).free, 2) << "a and c";
  EXPECT_EQ(survey.cliques.at("c9.0").free, 1);
}

TEST(NodeSurveyor, REV4_P12_TaintThatThePodDoesNotTolerateKeepsItAway) {
  api::Node tainted = Node("node-7");
  tainted.taints = {"nvidia.com/gpu:NoSchedule", "example.com/dedicated=team-a:NoSchedule"};
  const auto free = [&](const std::set<api::Toleration>& tolerations) {
    return Surveying(Lacking({}, tolerations)).Add(tainted).One().free;
  };
  const api::Toleration gpu = {.key = "nvidia.com/gpu"};
  EXPECT_EQ(free({}), 0);
  EXPECT_EQ(free({gpu}), 0);
  EXPECT_EQ(free({gpu, {.key = "example.com/dedicated"}}), 1);
  EXPECT_EQ(free({gpu, {.key = "example.com/dedicated", .value = "team-a"}}), 1);
  EXPECT_EQ(free({gpu, {.key = "example.com/dedicated", .value = "team-b"}}), 0);
  EXPECT_EQ(free({{}}), 1) << "it tolerates all";
}

TEST(NodeSurveyor, NodeThatNoPodCanUseDoesNotCount) {
  api::Node cordoned = Node("node-7");
  cordoned.unschedulable = true;
  api::Node lost = Node("node-8");
  lost.ready = false;
  const NodeSurvey survey =
      Surveying(Lacking(), {ClaimOn("node-7", "x")}).Add(cordoned).Add(lost, {}).One();
  EXPECT_EQ(survey.free, 0);
  EXPECT_TRUE(survey.claims.empty()) << "who deletes it has gained nothing";
  EXPECT_TRUE(survey.without_plugin.empty());
}

TEST(NodeSurveyor, REV4_P12_PodsThatMustFollowOthersIntoTheirCliqueHaveTheNodesOfTheClique) {
  Observed observed = Lacking();
  observed.domain->placement = std::string(api::kPlacementClique);
  for (auto& [name, node] : observed.nodes) node.clique = kCliqueId;
  const NodeSurvey survey = Surveying(observed, {ClaimOn("far", "x"), ClaimOn("near", "y")})
                                .Add(Node("far", "", fixtures::kOtherCliqueId))
                                .Add(Node("near"), {.has_channel = true, .publishes = true})
                                .One();
  EXPECT_EQ(survey.free, 0);
  ASSERT_EQ(survey.claims.size(), 1U);
  EXPECT_EQ(survey.claims[0].meta.key.name, "y-channel");
}

TEST(NodeSurveyor, CliqueThatAnotherDomainKeepsIsClosedOnlyToPlacedDomains) {
  const NodeContext kept = {.publishes = true, .reserved_for = "team-b/other"};
  Observed observed = Lacking();
  EXPECT_EQ(Surveying(observed).Add(Node("node-7"), kept).One().free, 1);
  observed.domain->placement = std::string(api::kPlacementClique);
  observed.children.claims.erase(observed.children.claims.begin(),
                                 observed.children.claims.end() - 1);
  EXPECT_EQ(Surveying(observed).Add(Node("node-7"), kept).One().free, 0);
}

TEST(NodeSurveyor, StaleSlicesAccuseNoPlugin) {
  Observed observed = Lacking(std::set<std::string>{"node-7"});
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kStale;
  const NodeSurvey survey =
      Surveying(observed).Add(Node("node-7"), {}).Add(Node("node-7", "", ""), {}).One();
  EXPECT_TRUE(survey.without_plugin.empty());
  EXPECT_EQ(survey.free, 1) << "the other may be no GPU node";
}

// A pod does not start there, also if nobody holds it.
TEST(NodeSurveyor, REV4_P12_OfANodeWithoutPluginNothingElseIsSaid) {
  const NodeSurvey survey =
      Surveying(Lacking(std::set<std::string>{"node-7"}), {ClaimOn("node-7", "x")})
          .Add(Node("node-7", kOtherUid), {.has_channel = true})
          .One();
  EXPECT_TRUE(survey.holders.empty());
  EXPECT_TRUE(survey.claims.empty());
  EXPECT_EQ(survey.without_plugin, Names{"node-7"});
  EXPECT_EQ(
      Surveying(Lacking()).Add(Node("n"), {.publishes = true, .fabric_error = "x"}).One().free, 0);
}

TEST(NodeSurveyor, REV4_7_NodesWithFewerGpusThanEachPodNeedsDoNotCount) {
  Observed observed = Lacking();
  observed.domain->gpus = "8";
  observed.facts.cluster.gpus.by_node = std::make_shared<const api::GpusByNode>(
      api::GpusByNode{{"small", {.count = 4}}, {"large", {.count = 8}}});
  const auto survey = [&] {
    return Surveying(observed, {ClaimOn("small", "x")})
        .Add(Node("small"))
        .Add(Node("none"))
        .Add(Node("large"))
        .One();
  };
  EXPECT_EQ(survey().free, 1);
  EXPECT_TRUE(survey().claims.empty()) << "who deletes it has harmed others in vain";
  EXPECT_EQ(survey().gpus_most, 8);
  api::Node large = Node("large");
  large.unschedulable = true;
  EXPECT_EQ(Surveying(observed).Add(Node("small")).Add(large).One().gpus_most, 4);
  observed.domain->gpu_class = "mine";
  EXPECT_FALSE(survey().gpus_most) << "nobody knows which GPUs are of the class";
  EXPECT_EQ(survey().free, 3);
}

// The channel of each is on node-7.
TEST(NodeSurveyor, B29_ClaimThatNamesTheDomainFromAnotherNamespaceHoldsAChannel) {
  struct Row {
    const char* what;
    bool holds;
    void (*change)(api::ResourceClaim&);
  };
  for (const Row& row : {
           Row{"as it is", true, [](api::ResourceClaim&) {}},
           Row{"of the daemon", false, [](api::ResourceClaim& c) { c.has_channel = false; }},
           Row{"of a monitor", false, [](api::ResourceClaim& c) { c.admin_access = true; }},
           Row{"of another domain", false,
               [](api::ResourceClaim& c) { c.channel_domain = kOtherUid; }},
           Row{"of the domain", false,
               [](api::ResourceClaim& c) { c.meta.key.ns = fixtures::kUserNs; }},
           Row{"of no pod", false, [](api::ResourceClaim& c) { c.consumers.clear(); }},
       }) {
    SCOPED_TRACE(row.what);
    Observed observed = Lacking();
    api::ResourceClaim claim = ClaimOn("node-7", "x");
    claim.meta.key.ns = "team-b";
    claim.channel_domain = kUid;
    row.change(claim);
    observed.children.claims.push_back(claim);
    EXPECT_EQ(Surveying(observed).Add(Node("node-7")).One().claims.size(), row.holds ? 1U : 0U);
  }
}

TEST(NodeSurveyor, NodeThatNobodySelectsIsNamedOnlyIfItHasAClique) {
  Observed observed = Lacking();
  const auto without = [&] {
    return Surveying(observed)
        .Add(Node("node-7"), {})
        .Add(Node("node-8", "", ""), {})
        .One()
        .without_plugin;
  };
  EXPECT_EQ(without(), Names{"node-7"}) << "it may run anywhere";
  observed.memory.reach.clear();
  observed.memory.scheduler_messages["train-2"] = std::string(api::kSchedulerLacksDevice);
  EXPECT_EQ(without(), Names{"node-7"}) << "nobody knows where";
}

TEST(NodeSurveyor, PodsThatMayRunOnTheSameNodesAreSurveyedTogether) {
  Observed observed = Lacking(std::set<std::string>{"node-7"});
  for (const char* pod : {"train-3", "train-4"}) {
    observed.children.claims.push_back(fixtures::MakeWaitingClaim(pod));
  }
  observed.memory.reach["train-3"] = observed.memory.reach["train-2"];
  observed.memory.scheduler_messages["train-4"] = std::string(api::kSchedulerLacksDevice);
  const std::vector<NodeSurvey> surveys = Surveying(observed).Add(Node("node-8")).All();
  ASSERT_EQ(surveys.size(), 2U);
  EXPECT_EQ(surveys[0].pods.size(), 2U);
  EXPECT_EQ(surveys[0].free, 0);
  EXPECT_EQ(surveys[1].free, 1) << "where it may run was not read";
}

}  // namespace
}  // namespace compute_domain

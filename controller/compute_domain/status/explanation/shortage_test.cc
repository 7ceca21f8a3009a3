#include "controller/compute_domain/status/explanation/shortage.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/model/ownership.h"
#include "pkg/json/value.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using Do = Advice::Do;
using Names = std::vector<std::string>;

Observed Waiting() {
  Observed observed = Converged();
  observed.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
  return observed;
}

// What is known of the nodes where train-2 may run.
NodeSurvey& Survey(Observed& observed) {
  std::vector<NodeSurvey>& surveys = observed.others.surveys;
  if (surveys.empty()) {
    surveys.push_back({.pods = {*PodOf(observed.children.claims.back())}});
  }
  return surveys.front();
}

void SetReach(Observed& observed, PodReach reach) {
  Survey(observed).reach = std::make_shared<const PodReach>(std::move(reach));
}

// train-2 waits, since no channel is left for it.
Observed Short() {
  Observed observed = Waiting();
  observed.memory.scheduler_messages = {
      {"train-2",
       "Unschedulable: 0/36 nodes are available: 36 cannot allocate all "
       "claims."}};
  return observed;
}

api::ResourceClaim Stray(const std::string& ns, const std::string& domain, Names consumers) {
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-3", "x");
  claim.meta.key = {.ns = ns, .name = "stray"};
  claim.channel_domain = domain;
  claim.consumers = std::move(consumers);
  claim.has_channel = true;
  return claim;
}

TEST(FindShortage, OnlyPodsThatLackAChannelAreShortOfOne) {
  EXPECT_FALSE(FindShortage(Converged()));
  EXPECT_FALSE(FindShortage(Waiting())) << "nobody has asked the scheduler";
  Observed observed = Waiting();
  observed.memory.scheduler_messages = {
      {"train-2", "Unschedulable: 0/36 nodes are available: 36 Insufficient cpu."}};
  Survey(observed).claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_FALSE(FindShortage(observed));
  EXPECT_TRUE(FindShortage(Short()));
}

TEST(FindShortage, B56_WhereNoNodeOfTheClusterHasAPluginThatIsSaidAndNothingElse) {
  Observed observed = Short();
  Survey(observed).claims = {Stray("team-b", "", {"pods/b"})};
  Survey(observed).holders = {"team-b/other"};
  observed.nobody_publishes = true;
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  EXPECT_EQ(FindShortage(observed)->reason, "NoPlugin");
  EXPECT_NE(FindShortage(observed)->message.find("For administrators: install a kubelet plugin"),
            std::string::npos);
  for (const Freshness unsure : {Freshness::kUnknown, Freshness::kStale}) {
    observed.facts.views.freshness[Kind::kResourceSlice] = unsure;
    EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  }
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  observed.nobody_publishes = false;
  EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  observed.nobody_publishes = true;
  observed.memory.scheduler_messages.clear();
  EXPECT_FALSE(FindShortage(observed)) << "no pod is known to wait for a channel";
}

TEST(DecideStatus, B56_DomainWhosePodsWaitInAClusterWithoutPluginIsNotReadyAndSaysWhy) {
  Observed observed = Short();
  observed.nobody_publishes = true;
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  observed.children.daemon_pods.clear();
  observed.children.labelled_nodes.clear();
  observed.children.cliques.clear();
  const auto status = [&] { return fixtures::StatusOf(observed); };
  std::erase_if(observed.children.claims,
                [](const api::ResourceClaim& claim) { return !claim.node.empty(); });
  for (const char* type : {"Ready", "InUse"}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(status().Find(type)->status, "False");
    EXPECT_EQ(status().Find(type)->reason, "NoPlugin");
    EXPECT_NE(status().Find(type)->message.find("pods/train-2"), std::string::npos);
    EXPECT_NE(status().Find(type)->message.find("cannot allocate all claims"), std::string::npos);
  }
  // Before anybody wants a channel nothing is missing: nodes may be yet to come.
  observed.children.claims.clear();
  EXPECT_EQ(status().Find("Ready")->reason, "Idle");
}

TEST(FindShortage, B29_ClaimThatHoldsAChannelForNoDomainOrNoPodIsNamed) {
  struct Row {
    api::ResourceClaim claim;
    const char* said;
  };
  for (const Row& row : {Row{Stray("team-b", "", {"pods/b"}), "(of no ComputeDomain)"},
                         Row{Stray("team-b", "", {}), "(used by no pod)"},
                         Row{Stray("team-b", fixtures::kOtherUid, {}), "(used by no pod)"}}) {
    Observed observed = Short();
    observed.facts.settings.Edit().names_others = true;
    Survey(observed).claims = {row.claim};
    const auto shortage = FindShortage(observed);
    ASSERT_TRUE(shortage);
    EXPECT_EQ(shortage->reason, "ChannelHeldByUnrelatedClaim");
    EXPECT_NE(shortage->message.find("the channel of node-3 by ResourceClaim team-b/stray " +
                                     std::string(row.said)),
              std::string::npos)
        << shortage->message;
    EXPECT_NE(shortage->message.find("Delete such a claim"), std::string::npos);
  }
}

TEST(FindShortage, B29_ClaimThatNamesTheDomainFromAnotherNamespaceIsNamed) {
  Observed observed = Short();
  Survey(observed).claims = {Stray("team-b", fixtures::kUid, {"pods/b"})};
  EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_NE(FindShortage(observed)->message.find("(of a domain in another namespace)"),
            std::string::npos);
}

TEST(FindShortage, G3_ClaimOfAnotherNamespaceIsNotNamedAndIsLeftToTheAdministrator) {
  Observed observed = Short();
  Survey(observed).claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_EQ(FindShortage(observed)->message,
            "Channels are held by unrelated claims: the channel of node-3 by a ResourceClaim in "
            "another namespace (of no ComputeDomain). Delete such a claim, or the pods that use "
            "it. Administrators find the claims of other namespaces in /debug/domains.");
  Survey(observed).claims = {Stray(fixtures::kUserNs, "", {"pods/b"})};
  EXPECT_NE(FindShortage(observed)->message.find("by ResourceClaim team-a/stray (of no"),
            std::string::npos);
  EXPECT_EQ(FindShortage(observed)->message.find("/debug/domains"), std::string::npos);
}

TEST(FindShortage, G3_HoldersInOtherNamespacesAreCounted) {
  Observed observed = Short();
  Survey(observed).holders = {"team-a/mine", "team-b/other", "team-c/third"};
  EXPECT_NE(FindShortage(observed)->message.find(
                "Other domains hold nodes: team-a/mine, 2 domains in other namespaces."),
            std::string::npos)
      << FindShortage(observed)->message;
}

TEST(FindShortage, P5_DomainsThatHoldNodesAreNamed) {
  Observed observed = Short();
  observed.facts.settings.Edit().names_others = true;
  const auto alone = FindShortage(observed);
  EXPECT_EQ(alone->reason, "NoChannelFree");
  EXPECT_EQ(alone->message.find("Other domains"), std::string::npos);
  Survey(observed).holders = {"team-b/other", "team-c/third"};
  EXPECT_NE(
      FindShortage(observed)->message.find("Other domains hold nodes: team-b/other, team-c/third."),
      std::string::npos);
}

TEST(FindShortage, F5_GpusThatAClaimAsksForAreNamedAsWhatMayLackToo) {
  Observed observed = Short();
  EXPECT_EQ(FindShortage(observed)->message.find("GPUs"), std::string::npos);
  observed.domain->gpus = "4";
  EXPECT_NE(FindShortage(observed)->message.find(
                "found nodes without a free channel, or without the GPUs that annotation "
                "cdom.dev/gpus asks for (4 of DeviceClass gpu.nvidia.com). "),
            std::string::npos)
      << FindShortage(observed)->message;
}

TEST(DecideStatus, B29_UseSaysWhoHasTheChannelThatAPodLacks) {
  Observed observed = Short();
  const auto in_use = [&] {
    const auto status = fixtures::StatusOf(observed);
    return *status.Find("InUse");
  };
  EXPECT_EQ(in_use().reason, "ClaimsReserved");
  EXPECT_NE(in_use().message.find("The scheduler found nodes without a free channel."),
            std::string::npos);
  Survey(observed).claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_EQ(in_use().reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_EQ(in_use().status, "True");
  std::erase_if(observed.children.claims,
                [](const api::ResourceClaim& claim) { return !claim.node.empty(); });
  EXPECT_EQ(in_use().reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_EQ(in_use().status, "False");
  Survey(observed).claims.clear();
  EXPECT_EQ(in_use().reason, "NoChannelFree");
}

// ---- Where a pod may run.

TEST(FindShortage, REV4_P12_NodesWithoutPluginWherePodsMayRunAreNamedThoughOthersHaveOne) {
  Observed observed = Short();
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  SetReach(observed, {.nodes = std::set<std::string>{"node-10"}});
  Survey(observed).without_plugin = {"node-10"};
  const auto shortage = FindShortage(observed);
  EXPECT_EQ(shortage->reason, "NoPlugin");
  EXPECT_EQ(shortage->message,
            "Nodes where these pods may run publish no devices of compute-domain.nvidia.com "
            "(node-10), so no pod gets a channel there. For administrators: install a kubelet "
            "plugin, or find out why its pods do not run.");
  EXPECT_EQ(shortage->advice, (Advice{.what = Do::kInstallPlugin, .objects = {"node-10"}}));
}

TEST(FindShortage, REV4_P12_NodesWithoutPluginAreNamedBesideThoseThatOthersHold) {
  Observed observed = Short();
  Survey(observed).holders = {"team-a/other"};
  Survey(observed).without_plugin = {"node-10", "node-11"};
  const auto shortage = FindShortage(observed);
  EXPECT_EQ(shortage->reason, "NoChannelFree");
  EXPECT_NE(shortage->message.find("Other domains hold nodes: team-a/other. The pods start when a "
                                   "pod of those domains ends. Nodes that publish no devices of "
                                   "compute-domain.nvidia.com, since no kubelet plugin runs there: "
                                   "node-10, node-11. ("),
            std::string::npos)
      << shortage->message;
  EXPECT_EQ(shortage->advice, (Advice{.what = Do::kWaitForDomains, .objects = {"team-a/other"}}));
}

TEST(FindShortage, REV4_7_NumberOfGpusThatNoNodeHasIsSaidToBe) {
  Observed observed = Short();
  observed.domain->gpus = "8";
  Survey(observed).gpus_most = 4;
  Survey(observed).holders = {"team-a/other"};
  const auto shortage = FindShortage(observed);
  EXPECT_EQ(shortage->reason, "NoNodeHasGpus");
  EXPECT_EQ(shortage->message,
            "No node where these pods may run has 8 GPUs of DeviceClass gpu.nvidia.com (largest: "
            "4): set annotation cdom.dev/gpus to 4, and delete the pods that wait, so that new "
            "ones ask for fewer.");
  EXPECT_EQ(shortage->advice, (Advice{.what = Do::kAskForGpus, .number = 4}));
}

TEST(FindShortage, REV4_7_GpusThatANodeHasAreAQuestionOfWaiting) {
  Observed observed = Short();
  observed.domain->gpus = "4";
  Survey(observed).gpus_most = 4;
  EXPECT_EQ(FindShortage(observed)->reason, "NoChannelFree");
  Survey(observed).gpus_most.reset();
  EXPECT_EQ(FindShortage(observed)->reason, "NoChannelFree") << "nobody has counted";
  observed.domain->gpus = "All";
  Survey(observed).gpus_most = 0;
  EXPECT_EQ(FindShortage(observed)->reason, "NoChannelFree") << "a node may have none";
}

TEST(FindShortage, REV4_7_WhereNoNodePublishesGpusTheirDriverIsMissing) {
  Observed observed = Short();
  observed.domain->gpus = "4";
  Survey(observed).gpus_most = 0;
  const auto shortage = FindShortage(observed);
  EXPECT_EQ(shortage->reason, "NoNodeHasGpus");
  EXPECT_EQ(shortage->message,
            "No node where these pods may run publishes GPUs of DeviceClass gpu.nvidia.com. For "
            "administrators: install its DRA driver, or find out why its pods do not run.");
  EXPECT_EQ(shortage->advice.what, Do::kInstallGpuDriver);
}

TEST(FindShortage, REV4_P12_WhereChannelsAreFreeTheSchedulerSaysWhatIsLacking) {
  Observed observed = Short();
  Survey(observed).free = 3;
  EXPECT_TRUE(FindShortage(observed)->message.starts_with(
      "Nodes where these pods may run have a free channel (3), and lack something else, which the "
      "scheduler's message names. The pods start when other pods release it."))
      << FindShortage(observed)->message;
  EXPECT_EQ(FindShortage(observed)->advice, (Advice{.what = Do::kWaitForDevices}));
  observed.domain->gpus = "4";
  EXPECT_NE(FindShortage(observed)->message.find("names, such as the GPUs that annotation "
                                                 "cdom.dev/gpus asks for (4 of DeviceClass "),
            std::string::npos);
  // One node has too little memory, and a domain holds the others.
  Survey(observed).holders = {"team-a/other"};
  EXPECT_EQ(FindShortage(observed)->advice.what, Do::kWaitForDomains);
}

TEST(FindShortage, REV4_P12_ChannelsOfTheDomainItselfAreSaidToBe) {
  Observed observed = Short();
  Survey(observed).own = 1;
  EXPECT_NE(FindShortage(observed)->message.find(
                "Pods of this domain hold the channels where these pods may run. The pods start "
                "when one of those ends. (Two pods on one node"),
            std::string::npos)
      << FindShortage(observed)->message;
  EXPECT_EQ(FindShortage(observed)->advice.what, Do::kWaitForOwnPods);
}

TEST(FindShortage, ClaimsToDeleteAreInTheAdviceWithTheirNamespace) {
  Observed observed = Short();
  Survey(observed).claims = {Stray("team-b", "", {}), Stray("team-a", "", {"pods/a"})};
  EXPECT_EQ(FindShortage(observed)->advice,
            (Advice{.what = Do::kDeleteClaims, .objects = {"team-a/stray", "team-b/stray"}}));
}

// Two pods with other nodes have other causes. The row shows the one that needs a person.
TEST(FindShortages, EachPodHasTheCauseOfTheNodesWhereItMayRun) {
  Observed observed = Short();
  Survey(observed).holders = {"team-a/other"};
  observed.children.claims.push_back(fixtures::MakeWaitingClaim("train-3"));
  observed.others.surveys.push_back(
      {.pods = {*PodOf(observed.children.claims.back())},
       .reach = std::make_shared<const PodReach>(PodReach{.nodes = std::set<std::string>{"n"}}),
       .without_plugin = {"n"}});
  std::vector<std::string> reasons;
  for (const auto& [uid, shortage] : FindShortages(observed)) reasons.push_back(shortage.reason);
  EXPECT_EQ(reasons, (Names{"NoChannelFree", "NoPlugin"}));
  EXPECT_EQ(FindShortage(observed)->reason, "NoPlugin");
  std::swap(observed.others.surveys[0], observed.others.surveys[1]);
  EXPECT_EQ(FindShortage(observed)->reason, "NoPlugin");
  observed.others.surveys.push_back({.claims = {Stray("team-a", "", {})}});
  EXPECT_EQ(FindShortage(observed)->reason, "NoPlugin") << "the first of two";
}

TEST(Advice, AToolReadsItWithoutItsText) {
  EXPECT_EQ(json::Serialize(
                Encode(Advice{.what = Do::kStartElsewhere, .objects = {"clique-2"}, .number = 4})),
            R"({"do":"StartElsewhere","objects":["clique-2"],"number":4})");
  std::set<std::string_view> names;
  for (int what = 0; what <= static_cast<int>(Do::kWaitForDevices); ++what) {
    names.insert(ToString(static_cast<Do>(what)));
  }
  EXPECT_EQ(names.size(), 10U);
}

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/status/explanation/usage.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/status/status.h"
#include "pkg/base/rfc3339.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::Now;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

// A claim that was made for the pod and has found no node for so long.
api::ResourceClaim WaitingClaim(const std::string& pod, seconds since) {
  api::ResourceClaim claim = fixtures::MakeWaitingClaim(pod);
  const auto created = Now().wall - since;
  claim.meta.creation_timestamp = base::FormatSeconds(created);
  return claim;
}

Observed Waiting(seconds since) {
  Observed observed = Converged();
  observed.children.claims.push_back(WaitingClaim("train-2", since));
  return observed;
}

TEST(FindUsage, EachPodOfASharedClaimIsAUser) {
  Observed observed = Converged();
  observed.children.claims[0].consumers = {"pods/train-0b", "pods/train-0a"};
  EXPECT_EQ(FindUsage(observed).users, (Names{"pods/train-0a", "pods/train-0b", "pods/train-1"}));
}

TEST(FindUsage, PodWithoutANodeWaitsInTheSchedulersWords) {
  Observed observed = Waiting(seconds(60));
  EXPECT_EQ(FindUsage(observed).waiting, Names{"pods/train-2"});
  observed.memory.scheduler_messages = {{"train-2", ""}};
  EXPECT_EQ(FindUsage(observed).waiting, Names{"pods/train-2"}) << "it was asked, and said nothing";
  observed.memory.scheduler_messages = {{"train-2", "Unschedulable: 0/36 nodes are available"}};
  EXPECT_EQ(FindUsage(observed).waiting,
            Names{"pods/train-2 (Unschedulable: 0/36 nodes are available)"});
}

// The view of its claim is old.
TEST(FindUsage, REV4_K19_PodThatRunsDoesNotWaitWhateverItsCachedClaimSays) {
  Observed observed = Waiting(seconds(60));
  observed.memory.started_pods = {"train-2"};
  EXPECT_EQ(FindUsage(observed).waiting, Names{});
}

TEST(FindUsage, U2_PodsOfWhichTheSameIsSaidAreNamedTogether) {
  Observed observed = Waiting(seconds(60));
  for (const char* pod : {"train-4", "train-3", "train-5"}) {
    observed.children.claims.push_back(WaitingClaim(pod, seconds(60)));
  }
  observed.memory.scheduler_messages = {{"train-2", "no"}, {"train-3", "no"}, {"train-5", "never"}};
  EXPECT_EQ(FindUsage(observed).waiting,
            (Names{"pods/train-2, train-3 (no)", "pods/train-4", "pods/train-5 (never)"}));
}

// It could not be asked for.
TEST(PlanWords, T12_OwnerWithoutANameIsNoPod) {
  Observed observed = Waiting(seconds(60));
  observed.children.claims.back().meta.owners[0].name.clear();
  EXPECT_FALSE(PlanSchedulerMessages(observed, Now()).read);
}

TEST(FindUsage, ClaimThatNoPodWaitsForIsNotWaitedFor) {
  struct Row {
    const char* what;
    void (*change)(api::ResourceClaim&);
  };
  const std::vector<Row> rows = {
      {"nobody's", [](api::ResourceClaim& claim) { claim.meta.owners.clear(); }},
      {"made for no pod", [](api::ResourceClaim& claim) { claim.meta.owners[0].kind = "Job"; }},
      {"elsewhere", [](api::ResourceClaim& claim) { claim.meta.key.ns = "team-b"; }},
      {"going", [](api::ResourceClaim& claim) { claim.meta.deleting = true; }},
  };
  for (const Row& row : rows) {
    Observed observed = Waiting(seconds(60));
    row.change(observed.children.claims.back());
    EXPECT_TRUE(FindUsage(observed).waiting.empty()) << row.what;
  }
}

using Occupied = std::map<std::string, std::string>;

TEST(FindOccupiedNodes, P5_NodeThatAnotherDomainHoldsIsNamedWithItsHolder) {
  Observed observed = Converged();
  EXPECT_TRUE(FindOccupiedNodes(observed).empty());
  observed.nodes["node-1"].domain = fixtures::kOtherUid;
  observed.others.domains = {{fixtures::kOtherUid, "team-a/other"}};
  EXPECT_EQ(FindOccupiedNodes(observed), (Occupied{{"node-1", "by team-a/other"}}));
  observed.others.domains.clear();
  EXPECT_EQ(FindOccupiedNodes(observed),
            (Occupied{{"node-1", "by a domain that does not exist, UID " + fixtures::kOtherUid}}));
  observed.nodes["node-1"].domain.clear();
  EXPECT_TRUE(FindOccupiedNodes(observed).empty()) << "its plugin will label it";
}

TEST(FindOccupiedNodes, G3_HolderInAnotherNamespaceIsNamedOnlyWhereThatIsWanted) {
  Observed observed = Converged();
  observed.nodes["node-1"].domain = fixtures::kOtherUid;
  observed.others.domains = {{fixtures::kOtherUid, "team-b/other"}};
  EXPECT_EQ(FindOccupiedNodes(observed),
            (Occupied{{"node-1", "by a domain in another namespace"}}));
  observed.facts.names_others = true;
  EXPECT_EQ(FindOccupiedNodes(observed), (Occupied{{"node-1", "by team-b/other"}}));
}

TEST(NamesForOwner, G3_DomainsOfOtherNamespacesAreCountedBehindThoseOfTheOwn) {
  Observed observed = Converged();
  // A namespace that begins like the own one is another.
  EXPECT_EQ(NamesForOwner(observed, {"team-a/b", "team-a/c", "team-ab/d"}),
            (Names{"team-a/b", "team-a/c", "a domain in another namespace"}));
  EXPECT_EQ(NamesForOwner(observed, {"team-a/z", "team/x", "team-b/y"}),
            (Names{"team-a/z", "2 domains in other namespaces"}));
  EXPECT_TRUE(NamesForOwner(observed, {}).empty());
  observed.facts.names_others = true;
  EXPECT_EQ(NamesForOwner(observed, {"team-a/z", "team/x"}), (Names{"team-a/z", "team/x"}));
}

TEST(PlanWords, Q2_NothingIsReadWhileNobodyWaits) {
  const SchedulerMessages messages = PlanSchedulerMessages(Converged(), Now());
  EXPECT_FALSE(messages.read);
  EXPECT_FALSE(messages.requeue_after);
}

TEST(PlanWords, SchedulerAtWorkIsNotAsked) {
  const SchedulerMessages messages = PlanSchedulerMessages(Waiting(seconds(2)), Now());
  EXPECT_FALSE(messages.read);
  EXPECT_EQ(messages.requeue_after, seconds(3));
}

TEST(PlanWords, PodThatHasWaitedIsReadThenEverLater) {
  Observed observed = Waiting(seconds(5));
  const SchedulerMessages first = PlanSchedulerMessages(observed, Now());
  ASSERT_TRUE(first.read);
  EXPECT_EQ(first.read->ns, fixtures::kUserNs);
  EXPECT_EQ(first.read->names, Names{"train-2"});

  struct Row {
    seconds waited;
    seconds pace;
  };
  for (const Row& row : {Row{seconds(5), seconds(10)}, Row{seconds(60), seconds(60)},
                         Row{seconds(3600), seconds(300)}}) {
    observed = Waiting(row.waited);
    observed.memory.scheduler_messages_read = Now().monotonic;
    EXPECT_EQ(PlanSchedulerMessages(observed, Now()).requeue_after, row.pace);
    EXPECT_FALSE(PlanSchedulerMessages(observed, Now()).read);
    observed.memory.scheduler_messages_read = Now().monotonic - row.pace;
    EXPECT_TRUE(PlanSchedulerMessages(observed, Now()).read);
    observed.evidence.scheduler_messages.emplace();
    EXPECT_FALSE(PlanSchedulerMessages(observed, Now()).read) << "it was just read";
    EXPECT_EQ(PlanSchedulerMessages(observed, Now()).requeue_after, row.pace);
  }
}

TEST(PlanWords, WhenToLookAgainDoesNotRunAwayWhileTimePasses) {
  for (const milliseconds first_read : {milliseconds(1), milliseconds(5'000)}) {
    milliseconds waited(first_read);
    milliseconds read = first_read;
    std::vector<milliseconds> reads;
    for (int looks = 0; looks < 20 && waited < seconds(300); ++looks) {
      Observed observed = Waiting(seconds(0));
      Instant now = Now();
      now.wall += waited;
      now.monotonic += waited;
      observed.memory.scheduler_messages_read = Now().monotonic + read;
      const SchedulerMessages messages = PlanSchedulerMessages(observed, now);
      if (messages.read) {
        read = waited;
        reads.push_back(waited);
      } else {
        waited += messages.requeue_after ? *messages.requeue_after : milliseconds(0);
      }
    }
    EXPECT_GE(waited, seconds(300)) << "it looks all the time";
    EXPECT_GE(reads.size(), 5U) << "and never reads";
  }
}

TEST(PlanWords, PodThatHasWaitedLongestSaysWhenAllAreRead) {
  for (const auto& [one, other] :
       {std::pair{seconds(1), seconds(5)}, std::pair{seconds(5), seconds(1)}}) {
    Observed observed = Waiting(one);
    observed.children.claims.push_back(WaitingClaim("train-3", other));
    const SchedulerMessages messages = PlanSchedulerMessages(observed, Now());
    ASSERT_TRUE(messages.read);
    EXPECT_EQ(messages.read->names, (Names{"train-2", "train-3"}));
  }
}

TEST(PlanWords, ClaimOfUnknownAgeIsNoReasonToAsk) {
  Observed observed = Waiting(seconds(60));
  observed.children.claims.back().meta.creation_timestamp.clear();
  const SchedulerMessages messages = PlanSchedulerMessages(observed, Now());
  EXPECT_FALSE(messages.read);
  EXPECT_FALSE(messages.requeue_after);
}

TEST(PlanWords, OnlyAsManyPodsAreReadAsAConditionNames) {
  Observed observed = Converged();
  for (int i = 0; i < 9; ++i) {
    observed.children.claims.push_back(WaitingClaim("w-" + std::to_string(i), seconds(60)));
  }
  const SchedulerMessages messages = PlanSchedulerMessages(observed, Now());
  ASSERT_TRUE(messages.read);
  EXPECT_EQ(messages.read->names, (Names{"w-0", "w-1", "w-2", "w-3", "w-4"}));
}

TEST(DecideStatus, UseSaysWhoWaitsAndWhy) {
  Observed observed = Waiting(seconds(60));
  observed.memory.scheduler_messages = {{"train-2", "Unschedulable: no GPU"}};
  const auto in_use = [&] {
    const auto status = fixtures::StatusOf(observed);
    return *status.Find("InUse");
  };
  EXPECT_EQ(in_use().message,
            "Used by pods/train-0, pods/train-1. Waiting for a node: pods/train-2 (Unschedulable: "
            "no GPU).");
  EXPECT_EQ(in_use().status, "True");
  std::erase_if(observed.children.claims,
                [](const api::ResourceClaim& claim) { return !claim.node.empty(); });
  EXPECT_EQ(in_use().status, "False");
  EXPECT_EQ(in_use().reason, "PodsWaiting");
}

// train-2 waits, since no channel is left for it.
Observed Short() {
  Observed observed = Waiting(seconds(60));
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
  EXPECT_FALSE(FindShortage(Waiting(seconds(60)))) << "nobody has asked the scheduler";
  Observed observed = Waiting(seconds(60));
  observed.memory.scheduler_messages = {
      {"train-2", "Unschedulable: 0/36 nodes are available: 36 Insufficient cpu."}};
  observed.others.unrelated_claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_FALSE(FindShortage(observed));
  EXPECT_TRUE(FindShortage(Short()));
}

TEST(FindShortage, B56_WhereNoNodeOfTheClusterHasAPluginThatIsSaidAndNothingElse) {
  Observed observed = Short();
  observed.others.unrelated_claims = {Stray("team-b", "", {"pods/b"})};
  observed.others.node_holders = {"team-b/other"};
  observed.nobody_publishes = true;
  observed.facts.views.slices = Freshness::kFresh;
  EXPECT_EQ(FindShortage(observed)->reason, "NoPlugin");
  EXPECT_NE(FindShortage(observed)->message.find("For administrators: install a kubelet plugin"),
            std::string::npos);
  for (const Freshness unsure : {Freshness::kUnknown, Freshness::kStale}) {
    observed.facts.views.slices = unsure;
    EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  }
  observed.facts.views.slices = Freshness::kFresh;
  observed.nobody_publishes = false;
  EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  observed.nobody_publishes = true;
  observed.memory.scheduler_messages.clear();
  EXPECT_FALSE(FindShortage(observed)) << "no pod is known to wait for a channel";
}

TEST(DecideStatus, B56_DomainWhosePodsWaitInAClusterWithoutPluginIsNotReadyAndSaysWhy) {
  Observed observed = Short();
  observed.nobody_publishes = true;
  observed.facts.views.slices = Freshness::kFresh;
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
    observed.facts.names_others = true;
    observed.others.unrelated_claims = {row.claim};
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
  observed.children.claims.push_back(Stray("team-b", fixtures::kUid, {"pods/b"}));
  EXPECT_EQ(FindShortage(observed)->reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_NE(FindShortage(observed)->message.find("(of a domain in another namespace)"),
            std::string::npos);
  for (const auto& change : std::vector<std::function<void(api::ResourceClaim&)>>{
           [](api::ResourceClaim& c) { c.has_channel = false; },
           [](api::ResourceClaim& c) { c.admin_access = true; },
           [](api::ResourceClaim& c) { c.channel_domain = fixtures::kOtherUid; },
           [](api::ResourceClaim& c) { c.meta.key.ns = fixtures::kUserNs; },
           [](api::ResourceClaim& c) { c.consumers.clear(); }}) {
    observed.children.claims.back() = Stray("team-b", fixtures::kUid, {"pods/b"});
    change(observed.children.claims.back());
    EXPECT_EQ(FindShortage(observed)->reason, "NoChannelFree");
  }
}

TEST(FindShortage, G3_ClaimOfAnotherNamespaceIsNotNamedAndIsLeftToTheAdministrator) {
  Observed observed = Short();
  observed.others.unrelated_claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_EQ(FindShortage(observed)->message,
            "Channels are held by unrelated claims: the channel of node-3 by a ResourceClaim in "
            "another namespace (of no ComputeDomain). Delete such a claim, or the pods that use "
            "it. Administrators find the claims of other namespaces in /debug/domains.");
  observed.others.unrelated_claims = {Stray(fixtures::kUserNs, "", {"pods/b"})};
  EXPECT_NE(FindShortage(observed)->message.find("by ResourceClaim team-a/stray (of no"),
            std::string::npos);
  EXPECT_EQ(FindShortage(observed)->message.find("/debug/domains"), std::string::npos);
}

TEST(FindShortage, G3_HoldersInOtherNamespacesAreCounted) {
  Observed observed = Short();
  observed.others.node_holders = {"team-a/mine", "team-b/other", "team-c/third"};
  EXPECT_NE(FindShortage(observed)->message.find(
                "Other domains hold nodes: team-a/mine, 2 domains in other namespaces."),
            std::string::npos)
      << FindShortage(observed)->message;
}

TEST(FindShortage, P5_DomainsThatHoldNodesAreNamed) {
  Observed observed = Short();
  observed.facts.names_others = true;
  const auto alone = FindShortage(observed);
  EXPECT_EQ(alone->reason, "NoChannelFree");
  EXPECT_EQ(alone->message.find("Other domains"), std::string::npos);
  observed.others.node_holders = {"team-b/other", "team-c/third"};
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
  observed.others.unrelated_claims = {Stray("team-b", "", {"pods/b"})};
  EXPECT_EQ(in_use().reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_EQ(in_use().status, "True");
  std::erase_if(observed.children.claims,
                [](const api::ResourceClaim& claim) { return !claim.node.empty(); });
  EXPECT_EQ(in_use().reason, "ChannelHeldByUnrelatedClaim");
  EXPECT_EQ(in_use().status, "False");
  observed.others.unrelated_claims.clear();
  EXPECT_EQ(in_use().reason, "NoChannelFree");
}

}  // namespace
}  // namespace compute_domain

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
  observed.facts.settings.Edit().names_others = true;
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
  observed.facts.settings.Edit().names_others = true;
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

}  // namespace
}  // namespace compute_domain

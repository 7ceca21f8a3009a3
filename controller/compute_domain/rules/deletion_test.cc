#include "controller/compute_domain/rules/deletion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/rfc3339.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Actions;
using fixtures::Deleting;
using fixtures::DeletingLast;
using fixtures::DeletingUnused;
using fixtures::kOtherUid;
using fixtures::kUid;
using fixtures::kUserNs;
using fixtures::Plan;
using fixtures::ReadLive;
using fixtures::WithoutClaims;
using std::chrono::minutes;
using std::chrono::seconds;
using Change = std::function<void(Observed&)>;
using Names = std::vector<std::string>;

Plan PlanFor(const Observed& observed) {
  return fixtures::PlanReconcile(observed, fixtures::Now());
}

// The deletion was asked for a minute before Now().
Plan PlanAfter(const Observed& observed, seconds since_deletion) {
  Instant now = fixtures::Now();
  now.wall += since_deletion - minutes(1);
  return fixtures::PlanReconcile(observed, now);
}

bool Writes(const Plan& plan) {
  return !Actions<Create>(plan).empty() || !Actions<Delete>(plan).empty() ||
         !Actions<WriteFinalizers>(plan).empty() || !Actions<WriteClique>(plan).empty() ||
         !Actions<RemoveNodeLabel>(plan).empty() || plan.status;
}

Names DeletedUids(const std::vector<Action>& step) {
  Names uids;
  for (const Delete& one : Actions<Delete>(step)) uids.push_back(one.uid);
  return uids;
}

Names DeletedUids(const Plan& plan) {
  Names uids;
  for (const Delete& one : Actions<Delete>(plan)) uids.push_back(one.uid);
  return uids;
}

// The domain's finalizer goes with this plan.
bool Releases(const Plan& plan) {
  return std::ranges::any_of(Actions<WriteFinalizers>(plan), [](const WriteFinalizers& write) {
    return write.kind == Kind::kComputeDomain;
  });
}

std::string MessageOf(const Plan& plan) {
  if (!plan.status) return {};
  const kube::Condition* ready = plan.status->status.Find("Ready");
  return ready->reason + ": " + ready->message;
}

// ---- Proof.

TEST(PlanDeletion, R2_CachedDeletionAloneStartsNothing) {
  Observed observed = Deleting();
  observed.evidence = {};
  const Plan plan = PlanFor(observed);
  ASSERT_EQ(plan.steps.size(), 1U);
  ASSERT_EQ(plan.steps[0].size(), 1U);
  const auto reads = Actions<ReadOwner>(plan);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].key, observed.domain->meta.key);
  EXPECT_FALSE(Writes(plan));
  // Not even a report of what failed: that would be a write, too.
  fixtures::Fail(observed, Concern::kReads,
                 {.reason = "Forbidden", .message = "get ComputeDomain"});
  EXPECT_FALSE(Writes(PlanFor(observed)));
}

TEST(PlanDeletion, R2_DomainThatLivesAfterAllIsLeftAlone) {
  Observed observed = ReadLive(DeletingUnused());
  (*observed.evidence.owner)->deleting = false;
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.status);
}

TEST(PlanDeletion, R2_DomainThatLivesAfterAllIsNotSaidToBeBlockedByARead) {
  Observed observed = DeletingLast();
  observed.evidence.children.reset();
  (*observed.evidence.owner)->deleting = false;
  fixtures::Fail(observed, Concern::kReads,
                 {.reason = "Forbidden", .message = "list what the domain left: 403"});
  EXPECT_FALSE(PlanFor(observed).status);
}

TEST(PlanDeletion, DomainThatIsGoneAlreadyLeavesOrphans) {
  Observed observed = DeletingUnused();
  observed.evidence.owner.emplace(std::nullopt);
  const Plan reads = PlanFor(observed);
  EXPECT_FALSE(Writes(reads));
  EXPECT_EQ(Actions<ReadChildren>(reads).size(), 1U);

  const Plan plan = PlanFor(ReadLive(observed));
  EXPECT_EQ(DeletedUids(plan), (Names{"daemon-set", "daemon-template", "clique"}));
  EXPECT_FALSE(plan.status) << "there is nothing to write it to";
  EXPECT_FALSE(Releases(plan));
}

TEST(PlanProof, ChildrenAreReadLiveWhenTheCacheShowsNoneOrOneThatOurFinalizerHolds) {
  struct Row {
    const char* what;
    Change change;
    bool reads;
  };
  const std::vector<Row> rows = {
      {"as it is", [](Observed&) {}, false},
      {"nothing left", [](Observed& o) { o.children = {}; }, true},
      {"a daemon pod left",
       [](Observed& o) { o.children = {.daemon_pods = {fixtures::MakePod("node-0", 0)}}; }, false},
      {"a node label left",
       [](Observed& o) { o.children = {.labelled_nodes = {fixtures::MakeNode("node-0")}}; }, false},
      {"a held DaemonSet",
       [](Observed& o) {
         fixtures::Delete(o.children.daemon_sets[0].meta, {std::string(api::kFinalizer)});
       },
       true},
      {"a held template",
       [](Observed& o) {
         fixtures::Delete(o.children.templates[0].meta, {std::string(api::kFinalizer)});
       },
       true},
      {"read already",
       [](Observed& o) {
         o.children = {};
         o.evidence.children.emplace();
       },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = Deleting();
    row.change(observed);
    const std::vector<Action> reads = PlanProof(observed);
    ASSERT_EQ(Actions<ReadChildren>(reads).size(), row.reads ? 1U : 0U);
    if (row.reads) {
      EXPECT_EQ(Actions<ReadChildren>(reads)[0].workload_namespace, kUserNs);
    }
  }
}

TEST(PlanDeletion, R2_DeletionThatAnEarlierPassProved_IsNotReadAgain) {
  Observed observed = DeletingUnused();
  observed.evidence.owner.reset();
  EXPECT_EQ(Actions<ReadOwner>(PlanFor(observed)).size(), 1U);
  observed.memory.deletion_is_proven = true;
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(Actions<ReadOwner>(plan).empty());
  EXPECT_EQ(Actions<ReadClaims>(plan).size(), 1U) << "that no job needs it may change";
}

TEST(PlanDeletion, R2_DomainOfWhichNothingIsLeft_IsReleasedAtItsCachedVersion) {
  Observed observed = DeletingLast();
  observed.evidence.owner.reset();
  observed.memory.retries[IdOf(Release(Kind::kComputeDomain, observed.domain->meta))] = {};
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(Actions<ReadOwner>(plan).empty());
  ASSERT_TRUE(Releases(plan));
  EXPECT_EQ(Actions<WriteFinalizers>(plan)[0].object, observed.domain->meta);

  observed.evidence.children.reset();
  const Plan reads = PlanFor(observed);
  EXPECT_TRUE(Actions<ReadOwner>(reads).empty());
  EXPECT_EQ(Actions<ReadChildren>(reads).size(), 1U);
  EXPECT_FALSE(Writes(reads));
}

TEST(PlanDeletion, R2_DomainIsReadLive_WhereItsCachedVersionProvesNothing) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"a live read shows a child",
       [](Observed& o) { o.evidence.children->cliques = {fixtures::MakeClique()}; }},
      {"the cache shows a child",
       [](Observed& o) {
         o.children.cliques = {fixtures::MakeClique()};
         o.evidence.children.reset();
       }},
      {"its release has failed",
       [](Observed& o) {
         Retry& retry = o.memory.retries[IdOf(Release(Kind::kComputeDomain, o.domain->meta))];
         static_cast<void>(retry.backoff.Next({.first = seconds(1), .most = seconds(1)}));
       }},
      {"its finalizers are not all known", [](Observed& o) { o.domain->meta.is_whole = false; }},
      {"it has no finalizer of ours", [](Observed& o) { o.domain->meta.finalizers = {"a/b"}; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = DeletingLast();
    observed.evidence.owner.reset();
    change(observed);
    const Plan plan = PlanFor(observed);
    EXPECT_EQ(Actions<ReadOwner>(plan).size(), 1U);
    EXPECT_FALSE(Writes(plan));
  }
}

// ---- While it is used.

TEST(PlanDeletion, B21_WorkloadTemplateGoesFirstAndAlone) {
  const Plan plan = PlanFor(Deleting());
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(DeletedUids(plan), (Names{"workload-template"}));
  EXPECT_TRUE(Actions<RemoveNodeLabel>(plan).empty());
}

TEST(PlanDeletion, P23_DomainOfTheHostsIsLetGoOnceItsTemplateIsGone) {
  Observed observed = fixtures::OnHosts();
  observed.domain = Deleting().domain;
  observed.children.claims.clear();
  observed.evidence.owner = observed.domain->meta;
  EXPECT_EQ(DeletedUids(PlanFor(observed)), Names{"workload-template"});
  observed.children.templates.clear();
  observed.evidence.children = observed.children;
  EXPECT_TRUE(Releases(PlanFor(observed)));
}

TEST(PlanDeletion, B21_ConsumersAreWaitedForAndNamed) {
  const Plan plan = PlanFor(Deleting());
  EXPECT_EQ(plan.requeue_after, minutes(9)) << "the rest of the grace";
  ASSERT_TRUE(plan.status);
  EXPECT_EQ(plan.status->status.status, "NotReady");
  const std::string message = MessageOf(plan);
  EXPECT_TRUE(message.starts_with("DeletionBlocked: Deletion waits for pods/train-0 on node-0"))
      << message;
  EXPECT_TRUE(
      message.ends_with("Delete these pods, or wait: after 12:09:00 UTC their daemons are "
                        "removed under them."))
      << message;
}

TEST(PlanDeletion, REV3_W6_Deadline_IsTheSameInEachPassAndProcess) {
  for (const int later : {5'000, 60'000}) {
    for (const seconds seen_ago : {seconds(0), seconds(59)}) {
      Observed observed = Deleting();
      observed.memory.deletion_seen = fixtures::Now().monotonic - seen_ago;
      Instant now = fixtures::Now();
      now.monotonic += std::chrono::milliseconds(later);
      now.wall += std::chrono::milliseconds(later);
      const std::string message = MessageOf(fixtures::PlanReconcile(observed, now));
      EXPECT_NE(message.find("wait: after 12:09:00 UTC"), std::string::npos) << message;
    }
  }
}

TEST(PlanDeletion, Q2_WaitThatWasSaidIsNotSaidAgain) {
  Observed observed = Deleting();
  observed.children.templates.pop_back();
  const std::optional<WriteStatus> said = PlanFor(observed).status;
  ASSERT_TRUE(said);
  observed.domain->status = said->status;
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.status);
  EXPECT_EQ(plan.requeue_after, minutes(9));
}

TEST(PlanDeletion, MembersGoOnAsLongAsConsumersDo) {
  Observed observed = fixtures::Marked(Deleting());
  observed.children.daemon_pods[1].ready = false;
  const Plan plan = PlanFor(observed);
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(Actions<WriteClique>(plan.steps[0]).size(), 1U)
      << "in one step with the template, whose refusal must not hold it up";
}

TEST(PlanDeletion, B21_L2_GraceEndsTheWait) {
  EXPECT_EQ(DeletedUids(PlanAfter(Deleting(), minutes(10) - seconds(1))),
            (Names{"workload-template"}));
  const Plan plan = PlanAfter(Deleting(), minutes(10));
  EXPECT_EQ(DeletedUids(plan),
            (Names{"workload-template", "daemon-set", "daemon-template", "clique"}));
  EXPECT_EQ(Actions<RemoveNodeLabel>(plan).size(), 2U);
}

TEST(PlanDeletion, C17_ClockThatIsAheadForcesNothing) {
  Observed observed = Deleting();
  observed.memory.deletion_seen = fixtures::Now().monotonic - (minutes(10) - seconds(1));
  const Plan plan = PlanAfter(observed, minutes(60));
  EXPECT_EQ(DeletedUids(plan), (Names{"workload-template"}));
  EXPECT_EQ(plan.requeue_after, seconds(1));
  *observed.memory.deletion_seen -= seconds(1);
  EXPECT_EQ(DeletedUids(PlanAfter(observed, minutes(60))).size(), 4U);
}

TEST(PlanDeletion, K9_NobodyIsCalledInTheFirstSeconds) {
  Observed observed = Deleting();
  observed.memory.deletion_seen = fixtures::Now().monotonic - seconds(4);
  const Plan early = PlanFor(observed);
  ASSERT_TRUE(early.status);
  EXPECT_EQ(MessageOf(early), "Deleting: The domain is being deleted.");
  EXPECT_EQ(early.status->status.Find("DeletionBlocked")->status, "False");
  EXPECT_EQ(early.requeue_after, seconds(1));
  *observed.memory.deletion_seen -= seconds(1);
  EXPECT_TRUE(MessageOf(PlanFor(observed)).starts_with("DeletionBlocked: "));
}

TEST(PlanDeletion, K9_NobodyIsCalledForDaemonsThatEndInTime) {
  Observed observed = DeletingUnused();
  observed.children.daemon_sets.clear();
  observed.children.templates.clear();
  observed.children.cliques.clear();
  observed.children.labelled_nodes.clear();
  observed = ReadLive(observed);
  auto& pods = observed.evidence.children->daemon_pods;
  for (api::DaemonPod& pod : pods) {
    pod.meta.deleting = true;
    pod.meta.deletion_timestamp = base::FormatSeconds(fixtures::Now().wall + seconds(20));
  }
  const Plan ending = PlanFor(observed);
  EXPECT_EQ(MessageOf(ending), "Deleting: The domain is being deleted.");
  EXPECT_EQ(ending.requeue_after, seconds(25)) << "and the kubelet's time";

  struct Row {
    const char* what;
    Change change;
  };
  const std::vector<Row> rows = {
      {"is not told to end",
       [](Observed& o) { o.evidence.children->daemon_pods[0].meta.deleting = false; }},
      {"should have ended",
       [](Observed& o) {
         o.evidence.children->daemon_pods[0].meta.deletion_timestamp =
             base::FormatSeconds(fixtures::Now().wall - seconds(5));
       }},
      {"has no time to end by",
       [](Observed& o) { o.evidence.children->daemon_pods[0].meta.deletion_timestamp.clear(); }},
      {"is kept by a finalizer",
       [](Observed& o) {
         o.evidence.children->daemon_pods[0].meta.finalizers = {"example.com/a"};
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed stuck = observed;
    row.change(stuck);
    EXPECT_TRUE(MessageOf(PlanFor(stuck)).starts_with("DeletionBlocked: "));
  }
  Observed lost = observed;
  lost.evidence.children->daemon_pods[0].meta.deleting = false;
  lost.nodes.at(lost.evidence.children->daemon_pods[0].node).ready = false;
  EXPECT_EQ(MessageOf(PlanFor(lost)), "Deleting: The domain is being deleted.")
      << "nobody waits for a node that is lost";
}

TEST(PlanDeletion, DeletionWithoutATimeIsOneWhoseGraceIsOver) {
  Observed observed = Deleting();
  observed.domain->meta.deletion_timestamp = "yesterday";
  EXPECT_EQ(DeletedUids(PlanFor(observed)).size(), 4U);
}

TEST(PlanDeletion, ClaimsThatCannotBeReadMayBeInUse) {
  for (const char* reason : {"PermissionMissing", "DRANotServed"}) {
    SCOPED_TRACE(reason);
    Observed observed = DeletingUnused();
    observed.facts.views.problem_reason = reason;
    observed.facts.views.claims_are_read = false;
    observed.facts.views.problems[Kind::kClaim] = "Grant list on resourceclaims.";
    const Plan plan = PlanFor(observed);
    EXPECT_EQ(DeletedUids(plan), (Names{"workload-template"}));
    EXPECT_NE(MessageOf(plan).find("Grant list on resourceclaims."), std::string::npos);
    EXPECT_EQ(DeletedUids(PlanAfter(observed, minutes(10))).size(), 4U);
  }
}

TEST(PlanDeletion, C20_WhoMayNotReadClaimsWaitsForThePodsOfLabelledNodesThatLive) {
  Observed observed = WithoutClaims(Deleting());
  const Plan waits = PlanFor(observed);
  EXPECT_EQ(DeletedUids(waits), Names{"workload-template"});
  EXPECT_NE(MessageOf(waits).find("pods on node-0"), std::string::npos);
  observed.memory.lost_for_long = {"node-0"};
  observed.evidence.nodes["node-0"] = NodeSeen::kNotReady;
  EXPECT_EQ(FindConsumers(observed), Names{"pods on node-1"});
  EXPECT_EQ(DeletedUids(PlanAfter(observed, minutes(10))).size(), 4U) << "the grace is over";
}

TEST(PlanDeletion, C20_R2_ThatNoNodeIsLabelledIsReadLive) {
  Observed observed = WithoutClaims(Deleting());
  observed.children.labelled_nodes.clear();
  const Plan reads = PlanFor(observed);
  EXPECT_EQ(Actions<ReadChildren>(reads).size(), 1U);
  EXPECT_TRUE(Actions<ReadClaims>(reads).empty());
}

TEST(PlanDeletion, C20_WhoMayNotDeleteCliquesLeavesThemAndAsksAgainWhenItIsTime) {
  Observed observed = ReadLive(DeletingUnused());
  observed.facts.cluster
      .missing_permissions[{.verb = "delete", .resource = "computedomaincliques"}] =
      fixtures::Now().monotonic + seconds(20);
  const Plan plan = PlanFor(observed);
  EXPECT_EQ(DeletedUids(plan), (Names{"workload-template", "daemon-set", "daemon-template"}));
  EXPECT_EQ(plan.requeue_after, seconds(20));
  observed.children.cliques.clear();
  EXPECT_NE(PlanFor(observed).requeue_after, seconds(20)) << "there is none";
}

TEST(FindConsumers, B22_OnlyAnAllocatedClaimOnANodeThatLivesCounts) {
  struct Row {
    const char* what;
    Change change;
    std::size_t consumers;
  };
  const std::vector<Row> rows = {
      {"as it is", [](Observed&) {}, 2},
      {"not allocated", [](Observed& o) { o.children.claims[0].node.clear(); }, 1},
      {"not reserved", [](Observed& o) { o.children.claims[0].consumers.clear(); }, 1},
      {"in another namespace", [](Observed& o) { o.children.claims[0].meta.key.ns = "team-b"; }, 1},
      {"of an administrator", [](Observed& o) { o.children.claims[0].admin_access = true; }, 1},
      {"another domain's", [](Observed& o) { o.children.claims[0].channel_domain = kOtherUid; }, 1},
      {"on a node that is not ready", [](Observed& o) { o.nodes["node-0"].ready = false; }, 2},
      {"on a node that has been lost for long, by the view alone",
       [](Observed& o) { o.memory.lost_for_long = {"node-0"}; }, 2},
      {"on a node that has been lost for long, also by a live read",
       [](Observed& o) {
         o.memory.lost_for_long = {"node-0"};
         o.evidence.nodes["node-0"] = NodeSeen::kNotReady;
       },
       1},
      {"on a node that is not ready in a live read",
       [](Observed& o) { o.evidence.nodes["node-0"] = NodeSeen::kNotReady; }, 2},
      {"on a node that the view lacks", [](Observed& o) { o.nodes.erase("node-0"); }, 2},
      {"on a node that a live read lacks",
       [](Observed& o) { o.evidence.nodes["node-0"] = NodeSeen::kMissing; }, 1},
      {"on a node that is ready in a live read, and that was lost for long",
       [](Observed& o) {
         o.memory.lost_for_long = {"node-0"};
         o.evidence.nodes["node-0"] = NodeSeen::kReady;
       },
       2},
      {"a live read that shows none", [](Observed& o) { o.evidence.children.emplace(); }, 0},
      {"a live read of the claims that shows none",
       [](Observed& o) { o.evidence.claims.emplace(); }, 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = Deleting();
    row.change(observed);
    EXPECT_EQ(FindConsumers(observed).size(), row.consumers);
  }
}

TEST(AreClaimsLabelled, C13_OnlyWhereEveryClaimIsKnownToBe) {
  const Change label_all = [](Observed& o) {
    o.children.templates[0].labels_claims = true;
    for (api::ResourceClaim& claim : o.children.claims)
      claim.is_labelled = !claim.daemon_domain.empty();
  };
  struct Row {
    const char* what;
    Change change;
    bool are_labelled;
  };
  const std::vector<Row> rows = {
      {"as it is", [](Observed&) {}, true},
      {"the template is older", [](Observed& o) { o.children.templates[0].labels_claims = false; },
       false},
      {"a claim is older", [](Observed& o) { o.children.claims[2].is_labelled = false; }, false},
      {"the template is not there", [](Observed& o) { o.children.templates.clear(); }, false},
      {"and was known before",
       [](Observed& o) {
         o.children.templates.clear();
         o.memory.claims_are_labelled = true;
       },
       true},
      {"and was known before, but a claim is older",
       [](Observed& o) {
         o.children.templates.clear();
         o.children.claims[3].is_labelled = false;
         o.memory.claims_are_labelled = true;
       },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = Deleting();
    label_all(observed);
    row.change(observed);
    EXPECT_EQ(AreClaimsLabelled(observed), row.are_labelled);
  }
}

TEST(FindConsumers, B25_ConsumerIsNamedByPodNodeAndClaim) {
  EXPECT_EQ(FindConsumers(Deleting())[1], "pods/train-1 on node-1 (claim team-a/train-1-channel)");
}

TEST(PlanDeletion, R2_NobodyIsTakenForIdleByTheCacheAlone) {
  const Plan plan = PlanFor(DeletingUnused());
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(DeletedUids(plan), (Names{"workload-template"}));
  EXPECT_TRUE(Actions<RemoveNodeLabel>(plan).empty());
  ASSERT_EQ(Actions<ReadClaims>(plan.steps[1]).size(), 1U);
  EXPECT_EQ(Actions<ReadClaims>(plan.steps[1])[0].ns, kUserNs);
}

TEST(PlanDeletion, C13_WhatIsLeftIsReadOnceWhichIsAtTheEnd) {
  Observed observed = DeletingUnused();
  observed.evidence.claims.emplace();
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(Actions<ReadChildren>(plan).empty());
  EXPECT_EQ(DeletedUids(plan),
            (Names{"workload-template", "daemon-set", "daemon-template", "clique"}));
}

TEST(PlanDeletion, R2_ConsumerThatOnlyTheLiveReadShowsIsWaitedFor) {
  Observed observed = ReadLive(DeletingUnused());
  observed.evidence.children->claims.push_back(fixtures::MakeChannelClaim("node-1", "late"));
  const Plan plan = PlanFor(observed);
  EXPECT_EQ(DeletedUids(plan), (Names{"workload-template"}));
  EXPECT_NE(MessageOf(plan).find("pods/late on node-1"), std::string::npos);
}

// ---- Tear-down.

TEST(PlanDeletion, B22_R1_EveryRoleIsTakenDownInOneStep) {
  const Plan plan = PlanFor(ReadLive(DeletingUnused()));
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(DeletedUids(plan.steps[0]), (Names{"workload-template"}));
  EXPECT_EQ(DeletedUids(plan.steps[1]), (Names{"daemon-set", "daemon-template", "clique"}));
  EXPECT_EQ(Actions<RemoveNodeLabel>(plan.steps[1]).size(), 2U);
  EXPECT_FALSE(Releases(plan));
}

TEST(PlanDeletion, B27_B28_WhatLiesInTheAdditionalNamespaceOrTwiceIsTakenDownToo) {
  Observed observed = DeletingUnused();
  Children& children = observed.children;
  children.daemon_sets.push_back(children.daemon_sets[0]);
  children.daemon_sets[1].meta.key = {fixtures::kOldDriverNs, "computedomain-daemon-x2b4"};
  children.daemon_sets[1].meta.uid = "daemon-set-2";
  children.templates[0].meta.key.ns = fixtures::kOldDriverNs;
  children.cliques[0].meta.key.ns = fixtures::kOldDriverNs;
  const Plan plan = PlanFor(ReadLive(observed));
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(DeletedUids(plan.steps[1]),
            (Names{"daemon-set", "daemon-set-2", "daemon-template", "clique"}));
}

TEST(PlanDeletion, N1_EachRoleIsTakenDownWhateverElseIsMissing) {
  const Observed all = ReadLive(DeletingUnused());
  const std::vector<std::pair<const char*, Change>> rows = {
      {"daemon-set",
       [&](Observed& o) { o.evidence.children->daemon_sets = all.children.daemon_sets; }},
      {"daemon-template",
       [&](Observed& o) { o.evidence.children->templates = {all.children.templates[0]}; }},
      {"workload-template",
       [&](Observed& o) { o.evidence.children->templates = {all.children.templates[1]}; }},
      {"clique", [&](Observed& o) { o.evidence.children->cliques = all.children.cliques; }},
  };
  for (const auto& [uid, change] : rows) {
    SCOPED_TRACE(uid);
    Observed observed = DeletingLast();
    change(observed);
    const Plan plan = PlanFor(observed);
    EXPECT_EQ(DeletedUids(plan), (Names{uid}));
    EXPECT_FALSE(Releases(plan));
  }
  Observed labelled = DeletingLast();
  labelled.evidence.children->labelled_nodes = {fixtures::MakeNode("node-0")};
  const Plan plan = PlanFor(labelled);
  EXPECT_EQ(Actions<RemoveNodeLabel>(plan).size(), 1U);
  EXPECT_FALSE(Releases(plan));
}

TEST(PlanTearDown, N3_S6_WhatIsNotOursIsNotTouched) {
  const std::vector<std::pair<const char*, std::function<void(Children&)>>> rows = {
      {"DaemonSet elsewhere", [](Children& c) { c.daemon_sets[0].meta.key.ns = kUserNs; }},
      {"daemon template elsewhere", [](Children& c) { c.templates[0].meta.key.ns = kUserNs; }},
      {"daemon template of another target",
       [](Children& c) { c.templates[0].target = "Workload"; }},
      {"clique elsewhere", [](Children& c) { c.cliques[0].meta.key.ns = kUserNs; }},
      {"clique under another domain's name",
       [](Children& c) { c.cliques[0].meta.key.name = kOtherUid + ".x"; }},
      {"clique with another domain's label", [](Children& c) { c.cliques[0].domain = kOtherUid; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    const Observed observed = Deleting();
    Children children = observed.children;
    change(children);
    EXPECT_EQ(DeletedUids(PlanTearDown(observed, children)).size(), 2U);
  }
}

TEST(PlanWorkloadTearDown, N3_ForgedTemplateIsNeitherDeletedNorWaitedFor) {
  const std::vector<std::pair<const char*, std::function<void(api::ResourceClaimTemplate&)>>> rows =
      {
          {"in another namespace", [](api::ResourceClaimTemplate& t) { t.meta.key.ns = "team-b"; }},
          {"under another name", [](api::ResourceClaimTemplate& t) { t.meta.key.name = "forged"; }},
          {"owned by somebody else",
           [](api::ResourceClaimTemplate& t) {
             t.meta.owners = {fixtures::DomainAsOwner(kOtherUid)};
           }},
      };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = DeletingLast();
    api::ResourceClaimTemplate forged = fixtures::MakeWorkloadTemplate();
    change(forged);
    observed.evidence.children->templates = {forged};
    const Plan plan = PlanFor(observed);
    EXPECT_TRUE(DeletedUids(plan).empty());
    EXPECT_TRUE(Releases(plan));
  }
}

TEST(PlanTearDown, R5_FinalizerOfAChildGoesOnlyAfterALiveRead) {
  Observed observed = DeletingUnused();
  const Names finalizers = {std::string(api::kFinalizer), "example.com/theirs"};
  for (api::ResourceClaimTemplate& found : observed.children.templates) {
    fixtures::Delete(found.meta, finalizers);
  }
  fixtures::Delete(observed.children.daemon_sets[0].meta, finalizers);
  EXPECT_TRUE(Actions<WriteFinalizers>(PlanTearDown(observed, observed.children)).empty());
  EXPECT_TRUE(Actions<WriteFinalizers>(PlanWorkloadTearDown(observed, observed.children)).empty());

  const auto writes = Actions<WriteFinalizers>(PlanFor(ReadLive(observed)));
  ASSERT_EQ(writes.size(), 3U);
  for (const WriteFinalizers& write : writes) {
    EXPECT_EQ(write.finalizers, (Names{"example.com/theirs"}));
    EXPECT_NE(write.kind, Kind::kComputeDomain);
  }
}

TEST(PlanTearDown, ChildThatOthersHoldIsWaitedFor) {
  Observed observed = DeletingLast();
  observed.children.cliques = {fixtures::MakeClique()};
  fixtures::Delete(observed.children.cliques[0].meta, {"example.com/theirs"});
  const Plan plan = PlanFor(ReadLive(observed));
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(MessageOf(plan).starts_with("HeldByFinalizer: ")) << MessageOf(plan);
  EXPECT_FALSE(plan.requeue_after) << "a watch says when it goes";
}

TEST(PinnedBy, REV3_X1_ThousandsOfFinalizers_AreCounted) {
  kube::ObjectMeta object;
  object.deleting = true;
  object.finalizers.emplace_back(api::kFinalizer);
  for (int i = 0; i < 2900; ++i) object.finalizers.push_back("a.com/" + std::to_string(i));
  EXPECT_EQ(
      PinnedBy(object),
      " (finalizer a.com/0, a.com/1, a.com/2, a.com/3, a.com/4, a.com/5, a.com/6, a.com/7 and "
      "2892 more)");
  object.finalizers.resize(9);
  EXPECT_TRUE(PinnedBy(object).ends_with("a.com/7)")) << PinnedBy(object);
}

TEST(FindPinned, B25_EachChildThatAFinalizerOfOthersKeepsIsNamedWithIt) {
  Observed observed = Deleting();
  observed.domain->meta.finalizers = {std::string(api::kFinalizer)};
  const kube::ObjectMeta owner = observed.domain->meta;
  observed.children.daemon_sets[0].meta.finalizers = {"a.com/x"};
  EXPECT_EQ(FindPinned(observed, owner), Names()) << "nothing of it is being deleted";
  const std::string ours(api::kFinalizer);
  fixtures::Delete(observed.children.daemon_sets[0].meta, {"a.com/x", ours, "b.com/y"});
  fixtures::Delete(observed.children.templates[0].meta, {"a.com/x"});
  fixtures::Delete(observed.children.templates[1].meta, {ours});
  fixtures::Delete(observed.children.cliques[0].meta, {"a.com/x"});
  EXPECT_EQ(
      FindPinned(observed, owner),
      (Names{"DaemonSet cdom-system/" + fixtures::kDaemonName + " (finalizer a.com/x, b.com/y)",
             "ResourceClaimTemplate cdom-system/" + fixtures::kDaemonName + " (finalizer a.com/x)",
             "ComputeDomainClique cdom-system/" + kUid + "." + fixtures::kCliqueId +
                 " (finalizer a.com/x)"}));
  for (api::DaemonSet& set : observed.children.daemon_sets) set.domain = kOtherUid;
  for (api::ResourceClaimTemplate& one : observed.children.templates) one.domain = kOtherUid;
  for (api::Clique& clique : observed.children.cliques) clique.domain = kOtherUid;
  EXPECT_EQ(FindPinned(observed, owner), Names()) << "what is not the domain's does not keep it";
}

TEST(PlanDeletion, B25_FinalizerOfOthersIsSaidWithWhatToDo) {
  Observed observed = DeletingLast();
  observed.children.daemon_sets = {fixtures::MakeDaemonSet()};
  fixtures::Delete(observed.children.daemon_sets[0].meta, {"example.com/theirs"});
  const std::string held = "DaemonSet cdom-system/" + fixtures::kDaemonName +
                           " (finalizer example.com/theirs). Each component removes its own";
  Plan plan = PlanFor(ReadLive(observed));
  ASSERT_TRUE(plan.status);
  const kube::Condition* blocked = plan.status->status.Find("DeletionBlocked");
  ASSERT_NE(blocked, nullptr);
  EXPECT_EQ(blocked->status, "True");
  EXPECT_EQ(blocked->reason, "HeldByFinalizer");
  EXPECT_NE(blocked->message.find(held), std::string::npos) << blocked->message;
  EXPECT_NE(blocked->message.find("kubectl edit"), std::string::npos);
  EXPECT_EQ(blocked->message.find("These also remain:"), std::string::npos);
  // Its pods wait for it, and not the other way round.
  observed.children.daemon_pods = {fixtures::MakePod("node-1", 1)};
  fixtures::Delete(observed.children.daemon_pods[0].meta, {"example.com/pods"});
  const std::string message = MessageOf(PlanFor(ReadLive(observed)));
  EXPECT_NE(message.find(held), std::string::npos) << message;
  EXPECT_NE(message.find("These also remain: the daemon on node-1 (finalizer example.com/pods)"),
            std::string::npos)
      << message;
}

// ---- The end.

TEST(PlanDeletion, R5_FinalizerGoesLastAndOnlyOurs) {
  Observed observed = DeletingLast();
  (*observed.evidence.owner)->resource_version = "200";
  (*observed.evidence.owner)->finalizers = {"example.com/a", std::string(api::kFinalizer),
                                            "example.com/b"};
  const Plan plan = PlanFor(observed);
  const auto writes = Actions<WriteFinalizers>(plan);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].finalizers, (Names{"example.com/a", "example.com/b"}));
  EXPECT_EQ(writes[0].object.uid, kUid);
  EXPECT_EQ(writes[0].object.resource_version, "200") << "of the live read, not of the cache";
  EXPECT_FALSE(plan.status);
  EXPECT_FALSE(plan.requeue_after);
}

TEST(PlanDeletion, DomainThatDoesNotHoldOurFinalizerIsLeftToWhoHoldsIt) {
  Observed observed = DeletingLast();
  (*observed.evidence.owner)->finalizers = {"example.com/theirs"};
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(MessageOf(plan).starts_with(
      "HeldByFinalizer: Finalizers of other components keep ComputeDomain team-a/train (finalizer "
      "example.com/theirs)."))
      << MessageOf(plan);
  (*observed.evidence.owner)->finalizers = {};
  EXPECT_FALSE(PlanFor(observed).status) << "it is about to be gone";
}

TEST(MayRelease, R5_OnlyALiveReadThatShowsNothingLetsItGo) {
  Observed observed = DeletingLast();
  EXPECT_TRUE(MayRelease(observed));
  observed.evidence.children.reset();
  EXPECT_FALSE(MayRelease(observed));
}

TEST(PlanDeletion, B20_DaemonPodsAndTheirClaimsAreWaitedForAndNamed) {
  Observed observed = DeletingLast();
  observed.children.daemon_pods = {fixtures::MakePod("node-1", 1)};
  observed.children.claims = {fixtures::MakeDaemonClaim("node-0")};
  for (const bool live : {false, true}) {
    SCOPED_TRACE(live);
    observed.evidence.children.reset();
    const Plan plan = PlanFor(live ? ReadLive(observed) : observed);
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_EQ(plan.requeue_after, minutes(19)) << "twice the grace, less what has passed";
    const std::string message = MessageOf(plan);
    EXPECT_NE(message.find("waits for the daemon on node-1, the daemon's claim on node-0."),
              std::string::npos)
        << message;
    EXPECT_NE(message.find(
                  ". After 12:19:00 UTC the deletion continues without them. For administrators: "
                  "`kubectl -n cdom-system get pods -o wide -l "
                  "resource.nvidia.com/computeDomain=" +
                  kUid + "`."),
              std::string::npos)
        << message;
  }
}

TEST(PlanDeletion, B20_DaemonAndClaimWithoutANode_AreNamedByTheirObjects) {
  Observed observed = DeletingLast();
  observed.children.daemon_pods = {fixtures::MakePod("", 1)};
  observed.children.claims = {fixtures::MakeDaemonClaim("")};
  EXPECT_NE(MessageOf(PlanFor(ReadLive(observed)))
                .find("waits for pods/cdom-system/daemon-, resourceclaims/cdom-system/"),
            std::string::npos);
}

TEST(PlanDeletion, B20_PodThatOnlyTheLiveReadShowsIsWaitedFor) {
  Observed observed = DeletingLast();
  observed.evidence.children->daemon_pods = {fixtures::MakePod("node-0", 0)};
  EXPECT_FALSE(Releases(PlanFor(observed)));
}

TEST(PlanDeletion, B20_L2_PodThatNeverEndsHoldsTheDomainForOneGraceMoreAndNoLonger) {
  Observed observed = DeletingLast();
  observed.children.daemon_pods = {fixtures::MakePod("node-0", 0)};
  observed.evidence.children.reset();
  const Plan reads = PlanAfter(observed, minutes(20));
  EXPECT_EQ(Actions<ReadChildren>(reads).size(), 1U) << "nothing else would ask for it any more";
  EXPECT_FALSE(Releases(reads));
  EXPECT_TRUE(Releases(PlanAfter(ReadLive(observed), minutes(20))));
  EXPECT_FALSE(Releases(PlanAfter(ReadLive(observed), minutes(20) - seconds(1))));
}

TEST(FindRemains, OnlyWhatANodeThatLivesHasStillToEndCounts) {
  Observed base = DeletingLast();
  base.evidence.children.reset();
  base.children.daemon_pods = {fixtures::MakePod("node-0", 0)};
  base.children.claims = {fixtures::MakeDaemonClaim("node-0"),
                          fixtures::MakeChannelClaim("node-0", "train-0")};
  struct Row {
    const char* what;
    Change change;
    std::size_t remains;
  };
  const std::vector<Row> rows = {
      {"as it is", [](Observed&) {}, 2},
      {"on a lost node", [](Observed& o) { o.nodes["node-0"].ready = false; }, 0},
      {"on a node that is gone", [](Observed& o) { o.nodes.clear(); }, 0},
      {"a pod without a node", [](Observed& o) { o.children.daemon_pods[0].node.clear(); }, 2},
      {"a claim in a user's namespace",
       [](Observed& o) { o.children.claims[0].meta.key.ns = kUserNs; }, 1},
      {"another domain's claim",
       [](Observed& o) { o.children.claims[0].daemon_domain = kOtherUid; }, 1},
      {"a clique", [](Observed& o) { o.children.cliques = {fixtures::MakeClique()}; }, 2},
      {"what is no clique of its own, and may not be deleted",
       [](Observed& o) {
         o.children.cliques = {fixtures::MakeClique()};
         o.children.cliques[0].meta.key.name = "another";
         o.facts.cluster
             .missing_permissions[{.verb = "delete", .resource = "computedomaincliques"}] = {};
       },
       2},
      {"a clique that we may not delete",
       [](Observed& o) {
         o.children.cliques = {fixtures::MakeClique()};
         o.facts.cluster
             .missing_permissions[{.verb = "delete", .resource = "computedomaincliques"}] = {};
       },
       3},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = base;
    row.change(observed);
    EXPECT_EQ(FindRemains(observed).size(), row.remains);
  }
}

TEST(PlanDeletion, ReadThatIsRefusedIsWhatTheDeletionWaitsFor) {
  const Failure failure = {.reason = "Forbidden", .message = "list what the domain left: 403"};
  const std::vector<std::pair<const char*, Observed>> rows = {
      {"to see that nothing is left",
       [] {
         Observed observed = DeletingLast();
         observed.evidence.children.reset();
         return observed;
       }()},
      {"to see that nobody uses it", DeletingUnused()},
  };
  for (const auto& [what, base] : rows) {
    SCOPED_TRACE(what);
    Observed observed = base;
    EXPECT_FALSE(PlanFor(observed).status);
    fixtures::Fail(observed, Concern::kReads, failure);
    EXPECT_EQ(MessageOf(PlanFor(observed)), "DeletionBlocked: list what the domain left: 403");
  }
}

TEST(PlanNodeProof, REV3_F3_NodesThatTheViewLacksAreReadWhereSomethingUsedThem) {
  Observed observed = Deleting();
  EXPECT_TRUE(PlanNodeProof(observed).empty()) << "all are there";
  observed.nodes.clear();
  observed.children.claims[1].consumers.clear();
  observed.children.claims.push_back(observed.children.claims[0]);
  observed.children.claims.back().node.clear();
  const auto names = [&] {
    const auto reads = fixtures::Actions<ReadNodes>(PlanNodeProof(observed));
    return reads.empty() ? Names() : reads[0].names;
  };
  EXPECT_EQ(names(), Names{"node-0"});
  observed.evidence.nodes["node-0"] = NodeSeen::kReady;
  EXPECT_EQ(names(), Names()) << "it was read";
  observed = WithoutClaims(Deleting());
  observed.nodes.clear();
  EXPECT_EQ(names(), (Names{"node-0", "node-1"})) << "of labelled nodes nobody knows better";
}

TEST(PlanNodeProof, REV4_K4_NodesThatCountAsLostAreReadOnce) {
  Observed observed = Deleting();
  observed.nodes["node-0"].ready = false;
  EXPECT_TRUE(PlanNodeProof(observed).empty()) << "it may be back within 5 minutes";
  observed.memory.lost_for_long = {"node-0"};
  const auto reads = fixtures::Actions<ReadNodes>(PlanNodeProof(observed));
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].names, Names{"node-0"});
  for (const NodeSeen seen : {NodeSeen::kMissing, NodeSeen::kNotReady, NodeSeen::kReady}) {
    observed.evidence.nodes["node-0"] = seen;
    EXPECT_TRUE(PlanNodeProof(observed).empty());
  }
}

TEST(PlanRemainsProof, REV4_K4_NodesWhoseRemainsCountAsGoneAreReadOnce) {
  Observed observed = ReadLive(DeletingUnused());
  std::vector<api::ResourceClaim>& claims = observed.evidence.children->claims;
  observed.evidence.children->daemon_pods.resize(1);
  claims = {fixtures::MakeDaemonClaim("node-1"), fixtures::MakeDaemonClaim(""),
            fixtures::MakeChannelClaim("node-2", "train-2")};
  EXPECT_TRUE(PlanRemainsProof(observed).empty()) << "all are there";
  for (const char* name : {"node-0", "node-1", "node-2"}) {
    observed.nodes[name] = fixtures::MakeNode(name);
    observed.nodes[name].ready = false;
  }
  const auto reads = fixtures::Actions<ReadNodes>(PlanRemainsProof(observed));
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].names, (Names{"node-0", "node-1"}));
  for (const char* name : {"node-0", "node-1"}) observed.evidence.nodes[name] = NodeSeen::kMissing;
  EXPECT_TRUE(PlanRemainsProof(observed).empty());
}

TEST(PlanTearDown, REV4_K3_OfPodsWithoutAnOwnerDaemonsAloneAreDeleted) {
  const auto deleted = [](const std::string& name) {
    Observed observed = DeletingUnused();
    api::DaemonPod& pod = observed.children.daemon_pods[0];
    pod.meta.key.name = name;
    pod.meta.owners.clear();
    observed.evidence.children = observed.children;
    return DeletedUids(PlanAfter(observed, minutes(10)));
  };
  const kube::Uid uid = Deleting().children.daemon_pods[0].meta.uid;
  EXPECT_EQ(std::ranges::count(deleted(fixtures::kDaemonName + "-x"), uid), 1);
  EXPECT_EQ(std::ranges::count(deleted("copy-of-a-person"), uid), 0);
}

TEST(PlanDeletion, REV4_K4_DomainWhoseNodesCannotBeReadCountsAsUsed) {
  Observed observed = Deleting();
  observed.nodes.clear();
  EXPECT_EQ(Actions<ReadNodes>(PlanFor(observed)).size(), 1U);
  EXPECT_FALSE(PlanFor(observed).status) << "that read decides";
  const std::vector<Action> proof = PlanNodeProof(observed);
  observed.memory.retries[IdOf(proof.front())] = {.concern = Concern::kReads};
  const Plan plan = PlanFor(observed);
  EXPECT_EQ(Actions<ReadNodes>(plan).size(), 1U);
  EXPECT_TRUE(plan.status);
}

TEST(FindRemains, REV3_H1_LabelThatComesBackIsNamedWithThePodsItComesBackFor) {
  Observed observed = ReadLive(DeletingUnused());
  observed.evidence.children->daemon_pods.clear();
  observed.evidence.children->claims.clear();
  Retry& retry =
      observed.memory.retries[IdOf(RemoveNodeLabel{.node = "node-0", .domain_uid = observed.uid})];
  EXPECT_TRUE(FindRemains(observed).empty()) << "it was removed once";
  const base::BackoffPolicy second = {.first = seconds(1), .most = seconds(1)};
  (void)retry.backoff.Next(second);
  EXPECT_EQ(FindRemains(observed),
            Names{"the label of nodes/node-0, which its kubelet plugin sets again"});
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-0", "train-0");
  claim.consumers = {"pods/a", "pods/b"};
  api::ResourceClaim unused = claim;
  unused.consumers.clear();
  observed.evidence.children->claims = {claim, unused,
                                        fixtures::MakeChannelClaim("node-1", "train-1")};
  EXPECT_EQ(FindRemains(observed),
            Names{"the label of nodes/node-0, which its kubelet plugin sets again for pods/a, "
                  "pods/b"});
}

// Of a template that is refused: whether its domain may be released.
TEST(MayRelease, REV3_F17_TemplateIsLeftToTheGarbageCollectorOnlyIfItEndsWithItsDomain) {
  struct Row {
    const char* what;
    void (*change)(api::ResourceClaimTemplate&);
    bool releases;
  };
  const std::vector<Row> rows = {
      {"as it is", [](api::ResourceClaimTemplate&) {}, true},
      {"it goes already", [](auto& t) { t.meta.deleting = true; }, false},
      {"it has our finalizer", [](auto& t) { t.meta.finalizers = {std::string(api::kFinalizer)}; },
       false},
      {"it has no owner", [](auto& t) { t.meta.owners.clear(); }, false},
  };
  for (const Row& row : rows) {
    Observed observed = DeletingUnused();
    observed.evidence.children.emplace();
    api::ResourceClaimTemplate found = fixtures::MakeWorkloadTemplate();
    row.change(found);
    observed.evidence.children->templates = {found};
    EXPECT_FALSE(MayRelease(observed)) << "its deletion was not tried";
    Retry& retry =
        observed.memory.retries[IdOf(Delete{.kind = Kind::kClaimTemplate, .key = found.meta.key})];
    EXPECT_FALSE(MayRelease(observed)) << "it may pass";
    const base::BackoffPolicy second = {.first = seconds(1), .most = seconds(1)};
    (void)retry.backoff.Next(second);
    EXPECT_EQ(MayRelease(observed), row.releases) << row.what;
  }
}

TEST(HoldsFinalizer, REV3_F4_NoneIsTakenOffAnObjectOfWhichNotAllAreKnown) {
  kube::ObjectMeta meta = {.deleting = true, .finalizers = {std::string(api::kFinalizer)}};
  EXPECT_TRUE(HoldsFinalizer(meta));
  meta.is_whole = false;
  EXPECT_FALSE(HoldsFinalizer(meta));
}

}  // namespace
}  // namespace compute_domain

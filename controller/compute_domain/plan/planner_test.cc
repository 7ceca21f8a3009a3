#include "controller/compute_domain/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/children.h"
#include "pkg/base/rfc3339.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"
#include "test/fixtures/renamed.h"

namespace compute_domain {
namespace {

using fixtures::Actions;
using fixtures::Converged;
using fixtures::kDaemonName;
using fixtures::kDriverNs;
using fixtures::kOldDriverNs;
using fixtures::kOtherUid;
using fixtures::kTemplateName;
using fixtures::kUid;
using fixtures::kUserNs;
using fixtures::Plan;
using Change = std::function<void(Observed&)>;

Plan PlanFor(const Observed& observed) {
  return fixtures::PlanReconcile(observed, fixtures::Now());
}

Plan PlanFor(Observed observed, const Change& change) {
  change(observed);
  return PlanFor(observed);
}

bool IsEmpty(const Plan& plan) {
  return plan.steps.empty() && !plan.status && !plan.obstacle && !plan.requeue_after;
}

api::ResourceClaimTemplate& DaemonTemplate(Observed& observed) {
  return observed.children.templates[0];
}
api::ResourceClaimTemplate& WorkloadTemplate(Observed& observed) {
  return observed.children.templates[1];
}

// ---- Text is for people: no decision reads one back.

// Renames every text that cdom wrote or keeps, where there is one.
void Rename(Observed& observed, const fixtures::NewText& new_text) {
  if (observed.domain) fixtures::Rename(observed.domain->status, new_text);
  fixtures::Rename(observed.memory, new_text);
  for (auto& [kind, problem] : observed.facts.views.problems) fixtures::Rename(problem, new_text);
  fixtures::Rename(observed.facts.views.problem, new_text);
  fixtures::Rename(observed.facts.cluster.rollout_stopped, new_text);
}

// What is decided, without the texts. `before` has the status that stays if none is written.
std::string DecisionsFor(const Observed& before) {
  const Plan plan = PlanFor(before);
  std::string text;
  for (const Step& step : plan.steps) {
    for (const Action& action : step) text += Describe(action) + "\n";
    text += "then\n";
  }
  if (plan.obstacle) text += "name taken: " + kube::ToString(plan.obstacle->key) + "\n";
  if (!before.domain) return text;
  const api::DomainStatus& status = plan.status ? plan.status->status : before.domain->status;
  text += status.status + " " + status.members + "\n";
  for (const kube::Condition& condition : status.conditions) {
    text += condition.type + "=" + condition.status + " " + condition.reason + " " +
            condition.last_transition_time + "\n";
  }
  return text;
}

TEST(PlanReconcile, TextsThatAreRenamed_ChangeNoDecision) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"as it is", [](Observed&) {}},
      {"a node rebooted",
       [](Observed& o) {
         o.rebooted = {"node-0"};
         o.children.daemon_pods[0].ready = false;
       }},
      {"a node is lost", [](Observed& o) { o.nodes["node-0"].ready = false; }},
      {"a daemon fails", [](Observed& o) { o.children.daemon_pods[0].ready = false; }},
      {"a daemon starts",
       [](Observed& o) {
         o.children.daemon_pods[0].ready = false;
         o.memory.phases["node-0"] = {.since = fixtures::Now().monotonic};
       }},
      {"no node takes part", [](Observed& o) { o.children.claims.clear(); }},
      {"a child cannot be created",
       [](Observed& o) {
         fixtures::FailToCreate(o, {.reason = "Forbidden", .message = "create it"});
       }},
      {"claims cannot be read", [](Observed& o) { o = fixtures::WithoutClaims(o); }},
      {"the rollout stopped",
       [](Observed& o) { o.facts.cluster.rollout_stopped = "node-7 is down"; }},
      {"deleted while in use", [](Observed& o) { o = fixtures::Deleting(); }},
      {"deleted", [](Observed& o) { o = fixtures::ReadLive(fixtures::DeletingUnused()); }},
      {"left behind", [](Observed& o) { o = fixtures::Orphans(); }},
  };
  const fixtures::NewText new_text = fixtures::Scrambled(1);
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = fixtures::Marked();
    change(observed);
    if (const Plan plan = PlanFor(observed); plan.status) {
      observed.domain->status = plan.status->status;
    }
    const std::string decisions = DecisionsFor(observed);
    for (int i = 0; i < 20; ++i) {
      Observed renamed = observed;
      Rename(renamed, new_text);
      EXPECT_EQ(DecisionsFor(renamed), decisions);
    }
  }
}

// ---- Life.

TEST(PlanReconcile, Q2_ConvergedDomainWantsNothing) {
  EXPECT_TRUE(IsEmpty(PlanFor(Converged())));
  EXPECT_TRUE(IsEmpty(PlanFor(fixtures::Marked())));
}

TEST(PlanReconcile, S8_FinalizerIsStoredBeforeAnyChildIsCreated) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    o.domain->meta.finalizers = {"example.com/theirs"};
    o.children = {};
  });
  ASSERT_EQ(plan.steps.size(), 2U);
  ASSERT_EQ(plan.steps[0].size(), 1U);
  const auto admissions = Actions<WriteFinalizers>(plan.steps[0]);
  ASSERT_EQ(admissions.size(), 1U);
  EXPECT_EQ(admissions[0].kind, Kind::kComputeDomain);
  EXPECT_EQ(admissions[0].finalizers,
            (std::vector<std::string>{"example.com/theirs", std::string(api::kFinalizer)}));
  EXPECT_EQ(admissions[0].object.resource_version, "100");
  EXPECT_EQ(Actions<Create>(plan.steps[1]).size(), 3U);
}

TEST(PlanReconcile, B28_MissingChildIsMadeUnderItsOwnNameAndNothingElseIs) {
  struct Row {
    const char* what;
    Change change;
    Kind kind;
    kube::ObjectKey key;
  };
  const std::vector<Row> rows = {
      {"DaemonSet",
       [](Observed& o) { o.children.daemon_sets = {}; },
       Kind::kDaemonSet,
       {kDriverNs, kDaemonName}},
      {"daemon template",
       [](Observed& o) { o.children.templates.erase(o.children.templates.begin()); },
       Kind::kClaimTemplate,
       {kDriverNs, kDaemonName}},
      {"workload template",
       [](Observed& o) { o.children.templates.pop_back(); },
       Kind::kClaimTemplate,
       {kUserNs, kTemplateName}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Plan plan = PlanFor(Converged(), row.change);
    const auto creates = Actions<Create>(plan);
    ASSERT_EQ(creates.size(), 1U);
    EXPECT_EQ(creates[0].kind, row.kind);
    EXPECT_EQ(creates[0].key, row.key);
    EXPECT_EQ(creates[0].object["metadata"]["name"].AsString(), row.key.name);
    EXPECT_EQ(creates[0].object["metadata"]["namespace"].AsString(), row.key.ns);
    EXPECT_FALSE(plan.obstacle);
  }
}

TEST(PlanReconcile, B27_R4_WhatIsInADriverNamespaceIsAdoptedUnderAnyName) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"a DaemonSet with a generated name",
       [](Observed& o) { o.children.daemon_sets[0].meta.key.name = "computedomain-daemon-x2b4"; }},
      {"a DaemonSet in the additional namespace",
       [](Observed& o) { o.children.daemon_sets[0].meta.key.ns = kOldDriverNs; }},
      {"a daemon template with a generated name",
       [](Observed& o) { DaemonTemplate(o).meta.key.name = "computedomain-daemon-x2b4"; }},
      {"a daemon template in the additional namespace",
       [](Observed& o) { DaemonTemplate(o).meta.key.ns = kOldDriverNs; }},
      {"a workload template without owner, as the reference makes it",
       [](Observed& o) { WorkloadTemplate(o).meta.owners.clear(); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    EXPECT_TRUE(Actions<Create>(PlanFor(Converged(), change)).empty());
    EXPECT_TRUE(Actions<Delete>(PlanFor(Converged(), change)).empty());
  }
}

TEST(PlanReconcile, N3_R4_LabelAloneMakesNobodyAChild) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"a DaemonSet in a user's namespace",
       [](Observed& o) { o.children.daemon_sets[0].meta.key.ns = kUserNs; }},
      {"a daemon template in a user's namespace",
       [](Observed& o) { DaemonTemplate(o).meta.key.ns = kUserNs; }},
      {"a daemon template with another target",
       [](Observed& o) { DaemonTemplate(o).target = "Workload"; }},
      {"a workload template in another namespace",
       [](Observed& o) { WorkloadTemplate(o).meta.key.ns = "team-b"; }},
      {"a workload template under another name",
       [](Observed& o) { WorkloadTemplate(o).meta.key.name = "other"; }},
      {"a workload template with another target",
       [](Observed& o) { WorkloadTemplate(o).target = "Daemon"; }},
      {"a workload template of another incarnation",
       [](Observed& o) { WorkloadTemplate(o).meta.owners[0].uid = kOtherUid; }},
      {"a DaemonSet with another domain's label",
       [](Observed& o) { o.children.daemon_sets[0].domain = kOtherUid; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    EXPECT_EQ(Actions<Create>(PlanFor(Converged(), change)).size(), 1U);
  }
}

TEST(PlanReconcile, H13_DomainWithoutChannelGetsNothingButIsTold) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    o.domain->has_spec = false;
    o.domain->status.nodes.clear();
    o.domain->meta.finalizers.clear();
    o.children = {};
  });
  EXPECT_TRUE(plan.steps.empty());
  ASSERT_TRUE(plan.status);
  EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "Ready"), "SpecMissing");
}

TEST(PlanReconcile, NothingIsMadeWhileAKindCannotBeRead) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    o.children = {};
    o.domain->status = {};
    o.facts.views.problem_reason = "DRANotServed";
    o.facts.views.problem = "This cluster does not serve resource.k8s.io/v1.";
  });
  EXPECT_TRUE(plan.steps.empty());
  ASSERT_TRUE(plan.status);
  EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "Ready"), "DRANotServed");
}

TEST(PlanReconcile, C4_OfWhatIsNotSeenNothingIsMadeASecondTime) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    o.children.daemon_sets.clear();
    o.facts.views.problem_reason = "PermissionMissing";
  });
  EXPECT_TRUE(Actions<Create>(plan).empty());
}

TEST(PlanReconcile, CliquesAreWrittenInTheSameStepSoThatARefusedChildDoesNotHoldThemUp) {
  const Plan plan = PlanFor(fixtures::Marked(), [](Observed& o) {
    o.children.templates.pop_back();
    o.children.daemon_pods[1].meta.deleting = true;
  });
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(Actions<Create>(plan.steps[0]).size(), 1U);
  EXPECT_EQ(Actions<WriteClique>(plan.steps[0]).size(), 1U);
}

// node-1 has had no claim for so long, and train-1 has waited for a node as long as it is so.
Observed IdleAndWaiting(std::optional<std::chrono::seconds> idle,
                        std::optional<std::chrono::seconds> waiting) {
  const Instant now = fixtures::Now();
  Observed observed = Converged();
  if (idle) {
    std::erase_if(observed.children.claims, [](const api::ResourceClaim& claim) {
      return claim.node == "node-1" && !claim.channel_domain.empty();
    });
    observed.memory.idle_since = {{"node-1", now.monotonic - *idle}};
    observed.domain->status.nodes.pop_back();  // It is no member any more.
  }
  if (waiting) {
    api::ResourceClaim claim = fixtures::MakeChannelClaim("", "train-2");
    claim.meta.owners = {{.kind = "Pod", .name = "train-2", .controller = true}};
    claim.meta.creation_timestamp = base::FormatSeconds(now.wall - *waiting);
    claim.consumers.clear();
    observed.children.claims.push_back(claim);
  }
  // What status says of it was said.
  if (const auto write = PlanFor(observed).status) observed.domain->status = write->status;
  return observed;
}

TEST(PlanReconcile, EarliestOfWhatIsWaitedForIsWhenThePlanIsMadeAgain) {
  using std::chrono::seconds;
  struct Row {
    std::optional<seconds> idle;
    std::optional<seconds> waiting;
    std::optional<seconds> requeue_after;
  };
  const std::vector<Row> rows = {
      {{}, {}, {}},
      {seconds(28), {}, seconds(2)},
      {{}, seconds(2), seconds(3)},
      {seconds(28), seconds(2), seconds(2)},
      {seconds(28), seconds(4), seconds(1)},
  };
  for (const Row& row : rows) {
    const Plan plan = PlanFor(IdleAndWaiting(row.idle, row.waiting));
    EXPECT_TRUE(plan.steps.empty());
    EXPECT_EQ(plan.requeue_after,
              row.requeue_after ? RequeueAfter(*row.requeue_after) : RequeueAfter());
  }
}

TEST(PlanReconcile, B24_P1_LabelsThatAreDueAndPodsThatWaitAreReadInOneStep) {
  const Plan plan = PlanFor(IdleAndWaiting(std::chrono::seconds(30), std::chrono::seconds(5)));
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].size(), 2U);
  EXPECT_EQ(Actions<ReadClaims>(plan).size(), 1U);
  ASSERT_EQ(Actions<ReadPodConditions>(plan).size(), 1U);
  EXPECT_EQ(Actions<ReadPodConditions>(plan)[0].names, std::vector<std::string>{"train-2"});
}

TEST(PlanReconcile, Q1_ClaimsAreReadOnce_ForAMemberToLeaveAndItsLabel) {
  Observed observed = IdleAndWaiting(std::chrono::seconds(30), {});
  observed.domain->status.nodes.push_back(fixtures::MakeMember("node-1", 1));
  EXPECT_TRUE(PlanMembership(observed, fixtures::Now()).needs_claims);
  EXPECT_EQ(Actions<ReadClaims>(PlanFor(observed)).size(), 1U);
}

TEST(PlanReconcile, Q1_DomainWithoutAChildAndWithoutItsCliqueIsReadOnce) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    for (api::DaemonPod& pod : o.children.daemon_pods) pod.controller_writes = true;
    o.children.cliques.clear();
    std::erase_if(o.children.templates,
                  [](const auto& one) { return one.meta.key.ns != kDriverNs; });
    o.memory.children_seen = {ChildRole::kWorkloadTemplate};
  });
  EXPECT_EQ(Actions<ReadOwner>(plan).size(), 1U);
}

TEST(PlanReconcile, B37_R2_OutdatedPodIsReadLiveAndThenReplaced) {
  Observed observed = Converged();
  observed.children.daemon_sets[0].template_hash = HashChildren(observed).daemon_set;
  observed.children.daemon_sets[0].template_generation =
      observed.children.daemon_sets[0].meta.generation;
  observed.domain->daemon_roll = "Always";
  const Plan reads = PlanFor(observed);
  EXPECT_EQ(Actions<ReadDaemons>(reads).size(), 1U);
  EXPECT_TRUE(Actions<ReplaceDaemon>(reads).empty());
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  const auto deletions = Actions<ReplaceDaemon>(PlanFor(observed));
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].uid, "pod-node-0");
  // An old view of the set shows another template: its repair comes first.
  observed.children.daemon_sets[0].template_hash = "older";
  observed.children.daemon_sets[0].template_generation = 1;
  const Plan repair = PlanFor(observed);
  EXPECT_EQ(Actions<WritePodTemplate>(repair).size(), 1U);
  EXPECT_TRUE(Actions<ReplaceDaemon>(repair).empty());
}

TEST(PlanReconcile, StatusThatIsNotUrgentWaitsForTheRestOfItsWindow) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    o.domain->status.conditions[1].message = "stale";
    o.memory.status_written = fixtures::Now().monotonic - std::chrono::milliseconds(200);
  });
  EXPECT_FALSE(plan.status);
  EXPECT_EQ(plan.requeue_after, std::chrono::milliseconds(300));
}

// ---- A child that somebody else deleted.

const std::pair<Kind, kube::ObjectKey> kDaemonSetName = {Kind::kDaemonSet,
                                                         {kDriverNs, kDaemonName}};

// Nobody uses the domain any more.
void DeleteDaemonSet(Observed& observed) {
  observed.children.claims.clear();
  observed.evidence.claims.emplace();
  fixtures::Delete(observed.children.daemon_sets[0].meta,
                   {std::string(api::kFinalizer), "example.com/theirs"});
}

TEST(PlanReconcile, B36_DeletedChildIsNotMadeAgainBeforeItIsGone) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    fixtures::Delete(o.children.daemon_sets[0].meta, {"foregroundDeletion"});
  });
  EXPECT_TRUE(plan.steps.empty());
}

TEST(PlanReconcile, R5_DeletedChildIsReadLiveBeforeItsFinalizerGoes) {
  const Plan plan = PlanFor(Converged(), DeleteDaemonSet);
  ASSERT_EQ(plan.steps.size(), 1U);
  const auto reads = Actions<ReadTaken>(plan.steps[0]);
  ASSERT_EQ(plan.steps[0].size(), 1U);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].key, kDaemonSetName.second);
}

TEST(PlanReconcile, B36_DeletedChildLosesOurFinalizerAndNoOther) {
  const Plan plan = PlanFor(Converged(), [](Observed& o) {
    DeleteDaemonSet(o);
    api::DaemonSet live = o.children.daemon_sets[0];
    live.meta.resource_version = "200";
    o.evidence.names[kDaemonSetName] = Found(NameHolder{.meta = live.meta, .domain = kUid});
  });
  const auto writes = Actions<WriteFinalizers>(plan);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].kind, Kind::kDaemonSet);
  EXPECT_EQ(writes[0].object.resource_version, "200");
  EXPECT_EQ(writes[0].finalizers, (std::vector<std::string>{"example.com/theirs"}));
}

TEST(PlanReconcile, R5_ChildIsLetGoOnlyIfTheLiveReadShowsThisOneDeleted) {
  const std::vector<std::pair<const char*, std::function<void(NameHolder&)>>> rows = {
      {"another incarnation", [](NameHolder& live) { live.meta.uid = "daemon-set-2"; }},
      {"not deleting", [](NameHolder& live) { live.meta.deleting = false; }},
      {"without our finalizer", [](NameHolder& live) { live.meta.finalizers.clear(); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Converged();
    DeleteDaemonSet(observed);
    NameHolder live = {.meta = observed.children.daemon_sets[0].meta, .domain = kUid};
    change(live);
    observed.evidence.names[kDaemonSetName] = Found(live);
    EXPECT_TRUE(PlanFor(observed).steps.empty());
  }
  Observed gone = Converged();
  DeleteDaemonSet(gone);
  gone.evidence.names[kDaemonSetName] = {NameCheck::Is::kFree};
  EXPECT_TRUE(PlanFor(gone).steps.empty());
}

TEST(PlanReconcile, ChildThatStaysCountsBeforeOneThatGoes) {
  for (const bool deleted_first : {false, true}) {
    Observed observed = Converged();
    api::DaemonSet old = observed.children.daemon_sets[0];
    old.meta.key.name = "computedomain-daemon-x2b4";
    fixtures::Delete(old.meta, {std::string(api::kFinalizer)});
    auto& sets = observed.children.daemon_sets;
    sets.insert(deleted_first ? sets.begin() : sets.end(), old);
    EXPECT_TRUE(Actions<Create>(PlanFor(observed)).empty());
    EXPECT_TRUE(FindChildren(observed).terminating.empty());
  }
}

TEST(PlanReconcile, B28_SecondDaemonSetOfADomainHoldsNothingUp) {
  Observed observed = Converged();
  api::DaemonSet second = observed.children.daemon_sets[0];
  second.meta.key.name = "computedomain-daemon-x2b4";
  second.meta.uid = "daemon-set-2";
  observed.children.daemon_sets.push_back(second);
  EXPECT_FALSE(PlanFor(observed).status);
  observed.children.templates.pop_back();
  EXPECT_EQ(Actions<Create>(PlanFor(observed)).size(), 1U) << "what is missing is made";
}

// ---- A name that is taken.

const std::pair<Kind, kube::ObjectKey> kWorkloadName = {Kind::kClaimTemplate,
                                                        {kUserNs, kTemplateName}};

NameHolder Ours() {
  const api::ResourceClaimTemplate made = fixtures::MakeWorkloadTemplate();
  return {.meta = made.meta, .domain = made.domain, .target = made.target};
}

Observed WithoutWorkloadTemplate() {
  Observed observed = Converged();
  observed.children.templates.pop_back();
  return observed;
}

Plan PlanWithTaken(const NameHolder& taken) {
  Observed observed = WithoutWorkloadTemplate();
  observed.evidence.names[kWorkloadName] = Found(taken);
  return PlanFor(observed);
}

TEST(PlanReconcile, R3_NameThatIsTakenIsReadBeforeAnythingIsConcluded) {
  Observed observed = WithoutWorkloadTemplate();
  observed.evidence.names[kWorkloadName] = {NameCheck::Is::kTaken};
  const Plan plan = PlanFor(observed);
  EXPECT_TRUE(Actions<Create>(plan).empty());
  ASSERT_EQ(Actions<ReadTaken>(plan).size(), 1U);
  EXPECT_EQ(Actions<ReadTaken>(plan)[0].key, kWorkloadName.second);
  EXPECT_FALSE(plan.obstacle);
}

TEST(PlanReconcile, R3_TakenNameThatIsOursIsAsGoodAsMade) {
  EXPECT_TRUE(IsEmpty(PlanWithTaken(Ours())));
  Observed observed = Converged();
  const api::ResourceClaimTemplate made = DaemonTemplate(observed);
  observed.children.templates.erase(observed.children.templates.begin());
  observed.evidence.names[{Kind::kClaimTemplate, made.meta.key}] =
      Found(NameHolder{.meta = made.meta, .domain = made.domain, .target = made.target});
  EXPECT_TRUE(IsEmpty(PlanFor(observed)));
}

TEST(PlanReconcile, NameThatIsFreeAgainIsUsedInTheSamePass) {
  Observed observed = WithoutWorkloadTemplate();
  observed.evidence.names[kWorkloadName] = {NameCheck::Is::kFree};
  EXPECT_EQ(Actions<Create>(PlanFor(observed)).size(), 1U);
}

TEST(PlanReconcile, B39_NameThatSomebodyElseHoldsIsSaidAndTriedAgain) {
  struct Row {
    const char* what;
    std::function<void(NameHolder&)> change;
    const char* said;
  };
  const std::vector<Row> rows = {
      {"nobody's", [](NameHolder& t) { t.domain = t.target = "", t.meta.owners.clear(); },
       "does not belong to a ComputeDomain"},
      {"another domain's", [](NameHolder& t) { t.domain = kOtherUid; },
       "belongs to the ComputeDomain with UID"},
      {"that of another domain, by name",
       [](NameHolder& t) {
         t.domain = t.meta.owners[0].uid = kOtherUid;
         t.meta.owners[0].name = "quickstart";
       },
       "ResourceClaimTemplate team-a/train-channel belongs to ComputeDomain quickstart. Create "
       "this "
       "domain again with another spec.channel.resourceClaimTemplate.name."},
      {"another domain's, whose owner is of another kind",
       [](NameHolder& t) {
         t.domain = t.meta.owners[0].uid = kOtherUid;
         t.meta.owners[0].kind = "Job";
       },
       "Delete it if that domain does not exist, or create this domain again with another"},
      {"another domain's, by its label alone",
       [](NameHolder& t) {
         t.domain = kOtherUid;
         t.meta.owners.clear();
       },
       "Delete it if that domain does not exist, or create this domain again with another"},
      {"another target", [](NameHolder& t) { t.target = "Daemon"; }, "belongs to another object"},
      {"an older incarnation's", [](NameHolder& t) { t.meta.owners[0].uid = kOtherUid; },
       "belongs to another object"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    NameHolder taken = Ours();
    row.change(taken);
    const Plan plan = PlanWithTaken(taken);
    EXPECT_TRUE(plan.steps.empty());
    ASSERT_TRUE(plan.obstacle);
    EXPECT_EQ(plan.obstacle->failure.reason, "TemplateNameTaken");
    EXPECT_NE(plan.obstacle->failure.message.find(row.said), std::string::npos)
        << plan.obstacle->failure.message;
    EXPECT_NE(plan.obstacle->failure.message.find("team-a/train-channel"), std::string::npos);
    EXPECT_NE(plan.obstacle->failure.message.find("another spec.channel"), std::string::npos);
    ASSERT_TRUE(plan.status);
    EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "Ready"), "TemplateNameTaken");
    EXPECT_EQ(plan.status->status.status, "NotReady");
  }
}

TEST(PlanReconcile, B39_NameOfADaemonSetThatIsTakenIsSaidToo) {
  Observed observed = Converged();
  observed.children.daemon_sets.clear();
  observed.evidence.names[kDaemonSetName] =
      Found(NameHolder{.meta = fixtures::Meta(kDriverNs, kDaemonName, "theirs")});
  const Plan plan = PlanFor(observed);
  ASSERT_TRUE(plan.obstacle);
  EXPECT_TRUE(plan.obstacle->failure.message.starts_with("DaemonSet cdom-system/" + kDaemonName));
  EXPECT_TRUE(plan.obstacle->failure.message.ends_with("Delete it."))
      << plan.obstacle->failure.message;
  observed.evidence.names[kDaemonSetName] =
      Found(NameHolder{.meta = fixtures::MakeDaemonSet().meta, .domain = kUid});
  EXPECT_FALSE(PlanFor(observed).obstacle);
}

TEST(FindTakenName, CliqueThatExistsAlreadyIsNoObstacle) {
  Observed observed = Converged();
  observed.evidence.names[{Kind::kClique, {kDriverNs, "x"}}] = {NameCheck::Is::kTaken};
  observed.evidence.names[{Kind::kClique, {kDriverNs, "y"}}] = Found(NameHolder{});
  EXPECT_FALSE(FindTakenName(observed));
}

// ---- What a vanished domain left.

Observed Vanished() {
  Observed observed = Converged();
  observed.domain.reset();
  return observed;
}

TEST(PlanReconcile, R2_WithoutSuspicionNothingIsRead) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"nothing at all", [](Observed& o) { o.children = {}; }},
      {"claims that name it", [](Observed& o) { o.children = {.claims = o.children.claims}; }},
      {"a template in a user's namespace, which the garbage collector minds",
       [](Observed& o) { o.children = {.templates = {fixtures::MakeWorkloadTemplate()}}; }},
      {"a template that others hold back",
       [](Observed& o) {
         o.children = {.templates = {fixtures::MakeWorkloadTemplate()}};
         fixtures::Delete(o.children.templates[0].meta, {"example.com/theirs"});
       }},
      {"a forged DaemonSet", [](Observed& o) {
         o.children = {.daemon_sets = {fixtures::MakeDaemonSet()}};
         o.children.daemon_sets[0].meta.key.ns = kUserNs;
       }}};
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    EXPECT_TRUE(IsEmpty(PlanFor(Vanished(), change)));
  }
}

TEST(PlanReconcile, B42_R2_SuspicionIsFollowedByALiveReadAndNothingElse) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"DaemonSet", [](Observed& o) { o.children.daemon_sets = {fixtures::MakeDaemonSet()}; }},
      {"daemon template",
       [](Observed& o) { o.children.templates = {fixtures::MakeDaemonTemplate()}; }},
      {"clique", [](Observed& o) { o.children.cliques = {fixtures::MakeClique()}; }},
      {"node label",
       [](Observed& o) { o.children.labelled_nodes = {fixtures::MakeNode("node-0")}; }},
      {"labels on many nodes",
       [](Observed& o) { o.children.labelled_nodes.assign(1000, fixtures::MakeNode("node-0")); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Vanished();
    observed.children = {};
    change(observed);
    const Plan plan = PlanFor(observed);
    ASSERT_EQ(plan.steps.size(), 1U);
    EXPECT_EQ(plan.steps[0].size(), 2U);
    ASSERT_EQ(Actions<ReadOwner>(plan).size(), 1U);
    EXPECT_FALSE(Actions<ReadOwner>(plan)[0].key) << "its name is not known";
    EXPECT_EQ(Actions<ReadChildren>(plan).size(), 1U);
  }
}

TEST(PlanReconcile, N2_ChildrenOfADomainThatTheCacheHasNotSeenAreLeftAlone) {
  Observed observed = fixtures::Orphans();
  observed.evidence.owner.emplace(fixtures::MakeDomain().meta);
  EXPECT_TRUE(IsEmpty(PlanFor(observed)));
  fixtures::Delete(**observed.evidence.owner, {std::string(api::kFinalizer)});
  EXPECT_TRUE(IsEmpty(PlanFor(observed))) << "deleting or not, its own reconcile is in charge";
}

TEST(PlanReconcile, R2_WhatAVanishedDomainLeftIsTakenDown) {
  const Plan plan = PlanFor(fixtures::Orphans());
  ASSERT_EQ(plan.steps.size(), 1U);
  std::vector<kube::Uid> deleted;
  for (const Delete& one : Actions<Delete>(plan)) deleted.push_back(one.uid);
  EXPECT_EQ(deleted, (std::vector<kube::Uid>{"daemon-set", "daemon-template", "clique"}));
  const auto labels = Actions<RemoveNodeLabel>(plan);
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[1].node, "node-1");
  EXPECT_EQ(labels[1].domain_uid, kUid);
}

TEST(PlanReconcile, R2_WhatTheLiveReadDoesNotShowIsNotTakenDown) {
  Observed observed = fixtures::Orphans();
  *observed.evidence.children = {.cliques = {fixtures::MakeClique()}};
  const Plan plan = PlanFor(observed);
  ASSERT_EQ(Actions<Delete>(plan).size(), 1U);
  EXPECT_EQ(Actions<Delete>(plan)[0].uid, "clique");
  EXPECT_TRUE(Actions<RemoveNodeLabel>(plan).empty());
}

TEST(PlanReconcile, R6_WorkloadTemplateOfAVanishedDomainIsLetGoButNeverDeleted) {
  Observed observed = fixtures::Orphans();
  EXPECT_TRUE(std::ranges::none_of(Actions<Delete>(PlanFor(observed)), [](const Delete& one) {
    return one.uid == "workload-template";
  }));
  kube::ObjectMeta& held = observed.evidence.children->templates[1].meta;
  fixtures::Delete(held, {std::string(api::kFinalizer), "example.com/theirs"});
  const auto writes = Actions<WriteFinalizers>(PlanFor(observed));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].object.uid, "workload-template");
  EXPECT_EQ(writes[0].finalizers, (std::vector<std::string>{"example.com/theirs"}));
  observed.evidence.children->templates[1].domain = kOtherUid;
  EXPECT_TRUE(Actions<WriteFinalizers>(PlanFor(observed)).empty()) << "another domain's";
  observed.evidence.children->templates[1].domain = kUid;
  held.finalizers = {"example.com/theirs"};
  EXPECT_TRUE(Actions<WriteFinalizers>(PlanFor(observed)).empty());
}

// Users make and delete such templates as they like: each costs one read of the domains.
TEST(PlanReconcile, REV3_X11_TemplateOfAUserAloneIsLetGoWithoutAReadOfOtherChildren) {
  Observed observed = fixtures::Orphans();
  observed.children = {.templates = {observed.children.templates[1]}};
  fixtures::Delete(observed.children.templates[0].meta, {std::string(api::kFinalizer)});
  observed.evidence = {};
  Plan plan = PlanFor(observed);
  EXPECT_EQ(Actions<ReadOwner>(plan).size(), 1U);
  EXPECT_TRUE(Actions<ReadChildren>(plan).empty());
  EXPECT_TRUE(Actions<WriteFinalizers>(plan).empty()) << "its domain may exist";
  observed.evidence.owner.emplace(std::nullopt);
  plan = PlanFor(observed);
  EXPECT_EQ(Actions<WriteFinalizers>(plan).size(), 1U);
  for (const Change& more : std::vector<Change>{
           [](Observed& o) { o.children.daemon_sets = {fixtures::MakeDaemonSet()}; },
           [](Observed& o) { o.children.cliques = {fixtures::MakeClique()}; },
           [](Observed& o) { o.children.daemon_pods = {fixtures::MakePod("node-0", 0)}; },
           [](Observed& o) { o.children.labelled_nodes = {fixtures::MakeNode("node-0")}; },
           [](Observed& o) { o.children.templates.push_back(Converged().children.templates[0]); },
       }) {
    Observed with_more = observed;
    more(with_more);
    EXPECT_EQ(Actions<ReadChildren>(PlanFor(with_more)).size(), 1U);
  }
}

TEST(PlanReconcile, OrphanThatOthersHoldIsWaitedFor) {
  Observed observed = fixtures::Orphans();
  observed.children = {.daemon_sets = {fixtures::MakeDaemonSet()}};
  fixtures::Delete(observed.children.daemon_sets[0].meta, {"example.com/theirs"});
  observed.evidence.children = observed.children;
  EXPECT_TRUE(IsEmpty(PlanFor(observed)));
}

// ---- Ownership.

TEST(IsInUse, OnlyAReservedClaimInTheDomainsNamespaceCounts) {
  const Observed observed = Converged();
  const api::ResourceClaim claim = fixtures::MakeChannelClaim("node-0", "train-0");
  EXPECT_TRUE(IsInUse(observed, claim));
  const std::vector<std::pair<const char*, std::function<void(api::ResourceClaim&)>>> rows = {
      {"elsewhere", [](api::ResourceClaim& c) { c.meta.key.ns = "team-b"; }},
      {"another domain's", [](api::ResourceClaim& c) { c.channel_domain = kOtherUid; }},
      {"not reserved", [](api::ResourceClaim& c) { c.consumers.clear(); }},
      {"of an administrator", [](api::ResourceClaim& c) { c.admin_access = true; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    api::ResourceClaim changed = claim;
    change(changed);
    EXPECT_FALSE(IsInUse(observed, changed));
  }
}

TEST(IsDaemonPod, CopyMadeByHandDoesNotCount) {
  api::DaemonPod pod = fixtures::MakePod("node-0", 0);
  EXPECT_TRUE(IsDaemonPod(pod));
  pod.meta.owners[0].controller = false;
  EXPECT_FALSE(IsDaemonPod(pod));
  pod.meta.owners = {{.kind = "ReplicaSet", .uid = "daemon-set", .controller = true}};
  EXPECT_FALSE(IsDaemonPod(pod));
}

// ---- Hands off.

TEST(PlanReconcile, PausedDomainIsOnlyToldHowItIs) {
  for (const bool deleting : {false, true}) {
    Observed observed = deleting ? fixtures::Deleting() : Converged();
    observed.domain->paused = "true";
    observed.children.templates.clear();
    observed.nodes["node-1"].ready = false;
    const Plan plan = PlanFor(observed);
    EXPECT_TRUE(plan.steps.empty());
    ASSERT_TRUE(plan.status);
    EXPECT_EQ(plan.status->status.members, "1/2");
    EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "Accepted"), "Paused");
    EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "Ready"), "Paused");
    EXPECT_EQ(fixtures::ReasonOf(plan.status->status, "DeletionBlocked"), deleting ? "Paused" : "");
  }
  Observed observed = Converged();
  observed.domain->paused = "false";
  EXPECT_TRUE(IsEmpty(PlanFor(observed)));
}

TEST(PlanReconcile, R2_DomainWhoseCliqueIsMissingIsReadLiveOnce) {
  Observed observed = Converged();
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.controller_writes = true;
  observed.children.cliques.clear();
  const Plan reads = PlanFor(observed);
  EXPECT_EQ(Actions<ReadOwner>(reads).size(), 1U);
  EXPECT_TRUE(Actions<Create>(reads).empty());
  observed.evidence.owner.emplace(observed.domain->meta);
  const Plan made = PlanFor(observed);
  EXPECT_TRUE(Actions<ReadOwner>(made).empty());
  EXPECT_EQ(Actions<Create>(made).size(), 1U);
}

TEST(PlanReconcile, REV4_1_WhatTheCrdDropsOfMemorySharedIsPlanned) {
  Observed observed = Converged();
  const auto shared = [&] {
    return Planner(observed, fixtures::Now(), kRules).PlanStatus().memory_shared;
  };
  EXPECT_FALSE(shared()) << "the condition is written";
  observed.facts.cluster.status_is_pruned = true;
  ASSERT_TRUE(shared());
  EXPECT_EQ(shared()->status, "True");
}

TEST(PlanReconcile, REV3_F6_PausedDomainGivesItsPlaceInTheRolloutBack) {
  Observed observed = Converged();
  observed.domain->paused = "true";
  observed.memory.replacements["c.0"] = {.node = "node-0",
                                         .replaced = "before",
                                         .began = fixtures::Now().monotonic,
                                         .serves_since = fixtures::Now().monotonic};
  EXPECT_EQ(PlanFor(observed).requeue_after, RequeueAfter(observed.facts.settings->rollout.settle));
}

}  // namespace
}  // namespace compute_domain

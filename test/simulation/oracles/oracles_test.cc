// Goal: each oracle is green over whole runs in which nobody does wrong, and red after each wrong
// that it is there for.
#include "test/simulation/oracles/oracles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "test/simulation/oracles/end_state.h"
#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

using std::chrono::seconds;

TEST_F(OraclesTest, WholeRunIsGreen) {
  EXPECT_EQ(CheckSafety(), "");
  EXPECT_EQ(Check(CheckRest), "");
  AskForDeletion();
  Settle();
  EXPECT_EQ(CheckSafety(), "");
  EXPECT_EQ(Check(CheckRest), "");
  EXPECT_EQ(store().Get(Kind::kComputeDomain, kDomain), nullptr);
}

TEST_F(DaemonWritesOraclesTest, WholeRunIsGreen) {
  EXPECT_EQ(Check(CheckRest), "");
  AskForDeletion();
  Settle();
  EXPECT_EQ(CheckSafety(), "");
  EXPECT_EQ(Check(CheckRest), "");
}

TEST_F(OraclesTest, SecondDomainOfTheSameNameIsGreenToo) {
  AskForDeletion();
  Settle();
  cluster.CreateDomain(kDomain, "channel");
  Settle();
  EXPECT_EQ(CheckSafety(), "");
  EXPECT_EQ(Check(CheckRest), "");
}

// ---- S6

TEST_F(OraclesTest, S6SeesADeleteOfWhatBelongsToNobody) {
  Value forged = WorkloadTemplateObject(uid, "cd-1", "forged");
  forged["metadata"].Erase("ownerReferences");
  store().Create("user", Kind::kClaimTemplate, "other", forged);
  AskForDeletion();
  Misdelete(Kind::kClaimTemplate, {.ns = "other", .name = "forged"});
  EXPECT_TRUE(Contains(Check(OwnOnly), "other/forged, which belongs to no domain"));
}

TEST_F(OraclesTest, S6SeesADeleteUnderTheWrongName) {
  store().Create("user", Kind::kClaimTemplate, kSystem, DaemonTemplateObject(uid));
  Value twin = DaemonTemplateObject(uid);
  twin["metadata"]["name"] = "twin";
  store().Create("user", Kind::kClaimTemplate, kSystem, twin);
  AskForDeletion();
  Misdelete(Kind::kClaimTemplate, {.ns = kSystem, .name = "twin"});
  EXPECT_TRUE(Contains(Check(OwnOnly), "twin"));
  system.any_daemon_name = true;
  EXPECT_EQ(Check(OwnOnly), "");
}

TEST_F(OraclesTest, S6SeesAnotherOnesFinalizerTakenOff) {
  store().Edit("user", Kind::kComputeDomain, kDomain,
               [](Value& domain) { domain["metadata"]["finalizers"].Append("b/foreign"); });
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"]["finalizers"] = Value::Array({kFinalizer}); });
  EXPECT_TRUE(Contains(Check(OwnOnly), "took b/foreign off ComputeDomain train/cd-1"));
}

TEST_F(OraclesTest, S6SeesForeignLabelsOfANodeChanged) {
  Misedit(Kind::kNode, {.name = "node-0"},
          [](Value& node) { node["metadata"]["labels"]["kubernetes.io/hostname"] = "x"; });
  EXPECT_TRUE(Contains(Check(OwnOnly), "more than the domain label of Node node-0"));
}

TEST_F(OraclesTest, S6LetsALabelBeRestoredWhereTheDomainHasAChannel) {
  store().Edit("user", Kind::kNode, {.name = "node-0"},
               [](Value& node) { node["metadata"]["labels"].Erase(kDomainLabel); });
  Mislabel("node-0", uid);
  EXPECT_EQ(Check(OwnOnly), "");
  Mislabel("node-0", "another");
  EXPECT_TRUE(Contains(Check(OwnOnly), "put a domain label on Node node-0"));
}

TEST_F(OraclesTest, S6SeesANodeLabelledByTheController) {
  Mislabel("node-1", uid);
  EXPECT_TRUE(Contains(Check(OwnOnly), "put a domain label on Node node-1"));
}

TEST_F(OraclesTest, S6SeesLabelsOfADomainChanged) {
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"]["labels"]["a"] = "b"; });
  EXPECT_TRUE(Contains(Check(OwnOnly), "more than finalizers and status"));
}

TEST_F(OraclesTest, S6SeesForeignLabelsOfAChildChanged) {
  store().Edit("user", Kind::kDaemonSet, DaemonKey(),
               [](Value& set) { set["metadata"]["labels"]["team"] = "a"; });
  Misedit(Kind::kDaemonSet, DaemonKey(),
          [](Value& set) { set["metadata"]["labels"].Erase("team"); });
  EXPECT_TRUE(Contains(Check(OwnOnly), "changed others' labels"));
}

TEST_F(OraclesTest, S6SeesAPodOrAClaimWritten) {
  Misedit(Kind::kPod, {.ns = "train", .name = "job-0"},
          [](Value& pod) { pod["metadata"]["labels"]["a"] = "b"; });
  EXPECT_TRUE(Contains(Check(OwnOnly), "wrote to Pod train/job-0"));
}

TEST_F(OraclesTest, S6SeesWhatIsNoneOfTheControllersBusinessWritten) {
  ASSERT_TRUE(
      store()
          .Create("controller", Kind::kComputeDomain, "train", ComputeDomainObject("cd-2", "other"))
          .ok());
  EXPECT_TRUE(Contains(Check(OwnOnly), "created a ComputeDomain"));
  ASSERT_TRUE(Misdelete(Kind::kComputeDomain, {.ns = "train", .name = "cd-2"}).ok());
  EXPECT_TRUE(Contains(Check(OwnOnly), "deleted ComputeDomain train/cd-2"));
  store().Create("controller", Kind::kNode, "", NodeObject("node-9", "boot"));
  EXPECT_TRUE(Contains(Check(OwnOnly), "created or deleted a Node"));
  ASSERT_TRUE(Misdelete(Kind::kSlice, {.name = SliceName("node-0")}).ok());
  EXPECT_TRUE(Contains(Check(OwnOnly), "wrote to ResourceSlice"));
  const Value lease = Value::Object({{"metadata", Value::Object({{"name", kLeaseName}})}});
  ASSERT_TRUE(store().Create("controller", Kind::kLease, kSystem, lease).ok());
  ASSERT_TRUE(Misdelete(Kind::kLease, {.ns = kSystem, .name = std::string(kLeaseName)}).ok());
  EXPECT_TRUE(Contains(Check(OwnOnly), "deleted Lease"));
}

TEST_F(OraclesTest, S6SeesAChildOfALiveDomainDeletedAndFinalizersTakenOffIt) {
  store().Edit("user", Kind::kDaemonSet, DaemonKey(), [](Value& set) {
    set["metadata"]["finalizers"] = Value::Array({kFinalizer, "b/foreign"});
  });
  Misedit(Kind::kDaemonSet, DaemonKey(),
          [](Value& set) { set["metadata"]["finalizers"] = Value::Array({kFinalizer}); });
  EXPECT_TRUE(Contains(Check(OwnOnly), "took b/foreign off DaemonSet"));
  Misedit(Kind::kDaemonSet, DaemonKey(), [](Value& set) { set["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(OwnOnly), ", which stays"));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(OwnOnly), "of the live domain train/cd-1"));
}

TEST_F(OraclesTest, S6LetsAHeldChildOfADeadDomainGo) {
  Value held = WorkloadTemplateObject("dead", "cd-0", "held");
  held["metadata"].Erase("ownerReferences");
  held["metadata"]["finalizers"] = Value::Array({kFinalizer});
  store().Create("user", Kind::kClaimTemplate, "train", held);
  store().Delete("user", Kind::kClaimTemplate, {.ns = "train", .name = "held"});
  Misedit(Kind::kClaimTemplate, {.ns = "train", .name = "held"},
          [](Value& object) { object["metadata"].Erase("finalizers"); });
  EXPECT_EQ(Check(OwnOnly), "");
}

// ---- S7

TEST_F(OraclesTest, S7SeesEachChildOfALiveDomainDeleted) {
  for (const auto& [kind, key] :
       std::vector<std::pair<Kind, kube::ObjectKey>>{{Kind::kDaemonSet, DaemonKey()},
                                                     {Kind::kClaimTemplate, DaemonKey()},
                                                     {Kind::kClaimTemplate, kWorkloadTemplate},
                                                     {Kind::kClique, CliqueObjectKey()}}) {
    ASSERT_TRUE(Misdelete(kind, key).ok());
    EXPECT_TRUE(Contains(Check(LiveChildrenAreSafe), kube::ToString(key) + " of the live domain"));
  }
}

TEST_F(OraclesTest, S7SeesANodeOfALiveDomainUnlabelled) {
  Mislabel("node-0", "");
  EXPECT_TRUE(Contains(Check(LiveChildrenAreSafe), "took the label off Node node-0"));
  EXPECT_TRUE(Contains(Check(OwnOnly), "took the label off Node node-0"));
}

TEST_F(OraclesTest, S7LetsALabelGoThatItsClaimHasLeftBehindForHalfAMinute) {
  store().Edit("user", Kind::kNode, {.name = "node-1"}, [&](Value& node) {
    node["metadata"]["labels"][kDomainLabel] = uid;  // A late kubelet plugin.
  });
  cluster.Advance(seconds(31));
  Mislabel("node-1", "");
  EXPECT_EQ(Check(LiveChildrenAreSafe), "");
  EXPECT_EQ(Check(OwnOnly), "");
}

TEST_F(OraclesTest, S7SeesADaemonReplacedThatIsAsItShouldBe) {
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_TRUE(Contains(Check(LiveChildrenAreSafe), "which is as its DaemonSet would make it"));
  EXPECT_EQ(Check(OwnOnly), "");
}

TEST_F(OraclesTest, S7SeesADaemonReplacedWhileAnotherOfItsCliqueIsAway) {
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  Settle();
  ChangeTemplate();
  LookAtPods();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_EQ(Check(LiveChildrenAreSafe), "");
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-1")->key()).ok());
  EXPECT_TRUE(Contains(Check(LiveChildrenAreSafe), "while node-0 was without its daemon"));
}

TEST_F(OraclesTest, S7LetsWhatAUserDeletedBeFinishedOff) {
  store().Edit("user", Kind::kDaemonSet, DaemonKey(),
               [](Value& set) { set["metadata"]["finalizers"] = Value::Array({kFinalizer}); });
  store().Delete("user", Kind::kDaemonSet, DaemonKey());
  Misedit(Kind::kDaemonSet, DaemonKey(), [](Value& set) { set["metadata"].Erase("finalizers"); });
  EXPECT_EQ(Check(LiveChildrenAreSafe), "");
  EXPECT_EQ(Check(OwnOnly), "");
}

TEST_F(OraclesTest, S7SeesAnOwnerReferenceThatMakesTheCollectorDeleteAChild) {
  Misedit(Kind::kDaemonSet, DaemonKey(), [&](Value& set) {
    const ObjectPtr found = store().Get(Kind::kClaimTemplate, kWorkloadTemplate);
    set["metadata"]["ownerReferences"] = found->meta()["ownerReferences"];  // Of another namespace.
  });
  Settle();
  EXPECT_TRUE(Contains(Check(LiveChildrenAreSafe), "garbage-collector deleted DaemonSet"));
}

// ---- S20

TEST_F(OraclesTest, C5_S20SeesADaemonReplacedWhoseNodeHasAClaim) {
  ChangeTemplate();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim job-0-channel-"));
  EXPECT_EQ(Check(LiveChildrenAreSafe), "");
}

TEST_F(OraclesTest, C5_S20SeesADaemonReplacedWhilePeersOfItsCliqueHaveAClaim) {
  LabelIdleNode();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-1")->key()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim job-0-channel-"));
}

TEST_F(OraclesTest, C5_S20LetsDaemonsBeReplacedUnderAJobIfTheDomainAllowsIt) {
  AllowRollUnderJob();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, C5_S20LetsDaemonsOfAnIdleCliqueBeReplaced) {
  workload->Finish();
  Settle();
  LabelIdleNode();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-1")->key()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, C5_S20ForgivesAClaimThatCameAfterALiveLook) {
  workload->Finish();
  Settle();
  LabelIdleNode();
  LookAtClaims();
  cluster.AddWorkload({.ns = "train", .name = "late"}, "channel", {"node-0"});
  cluster.Settle();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-1")->key()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
  LookAtClaims();
  cluster.Settle();
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim late-0-channel-"));
}

// The daemons of these go as soon as the domain may.
TEST_F(OraclesTest, B21_S20SeesADaemonSetDeletedUnderAJobOfADomainThatGoes) {
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(599));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "deleted DaemonSet cdom-system/"));
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim job-0-channel-"));
}

TEST_F(OraclesTest, B21_S20SeesADaemonSetDeletedUnderAJobOfADomainThatLives) {
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim job-0-channel-"));
}

TEST_F(OraclesTest, B21_S20SeesADaemonPodDeletedUnderAJobOfADomainThatGoes) {
  cluster.DeleteDomain(kDomain);
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "while ResourceClaim job-0-channel-"));
}

TEST_F(OraclesTest, B21_S20LetsADaemonSetGoOnceTheGraceIsOver) {
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(600));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, B21_S20LetsADaemonSetGoAtOnceIfTheDomainSaysSo) {
  SetDeletionGrace("0");
  cluster.DeleteDomain(kDomain);
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, B21_S20SeesADaemonSetDeletedWithinALongerGraceOfTheDomain) {
  SetDeletionGrace("20m");
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(601));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(DaemonsInUseStay), "deleted DaemonSet"));
}

TEST_F(OraclesTest, B21_S20LetsADaemonSetGoThatNobodyUses) {
  AskForDeletion();
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, B21_S20LetsADaemonSetGoWhoseUsersAreOnNodesThatAreLost) {
  cluster.DeleteDomain(kDomain);
  for (const char* node : {"node-0", "node-2"}) cluster.FailNode(node);
  cluster.Settle();
  cluster.Advance(NodeController::kMonitorGrace);
  cluster.Settle();
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

TEST_F(OraclesTest, B21_S20ForgivesADaemonSetThatIsDeletedAfterALookThatFoundNobody) {
  workload->Finish();
  Settle();
  LookAtClaims();
  cluster.AddWorkload({.ns = "train", .name = "late"}, "channel", {"node-0"});
  cluster.Settle();
  cluster.DeleteDomain(kDomain);
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(DaemonsInUseStay), "");
}

// ---- S25

TEST_F(OraclesTest, REV4_Y1_S25SeesADaemonWhoseNamesAreNotThoseOfTheOthers) {
  const auto mark = [&](Value& metadata) {
    metadata["labels"][kMembershipWriterLabel] = "controller";
  };
  for (const char* node : {"node-0", "node-2"}) {
    Misedit(Kind::kPod, DaemonOn(node)->key(), [&](Value& pod) { mark(pod["metadata"]); });
  }
  const auto start = [&](const char* names) {
    store().Edit("user", Kind::kDaemonSet, DaemonKey(), [&](Value& set) {
      Value& pod = set["spec"]["template"];
      mark(pod["metadata"]);
      Value variable = Value::Object({{"name", "IMEX_NODE_NAMES"}, {"value", names}});
      pod["spec"]["containers"].MutableItems().front()["env"] = Value::Array({variable});
    });
    LabelIdleNode();
    return Check(DaemonsHaveTheSameNames);
  };
  EXPECT_EQ(Check(DaemonsHaveTheSameNames), "");
  EXPECT_TRUE(Contains(start("domain"), "with node names \"domain\" beside Pod"));
}

// ---- S22

TEST_F(OraclesTest, S22SeesWhatAJobUsesTakenInTheGracePeriod) {
  ChangeTemplate();
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(599));
  const auto sees = [&](const std::string& what) {
    return Contains(Check(LiveJobsKeepAll), "took " + what);
  };
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
  Mislabel("node-0", "");
  EXPECT_TRUE(sees("Node node-0 from the job with ResourceClaim job-0-channel-"));
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());
  EXPECT_TRUE(sees("Pod cdom-system/"));
  ASSERT_TRUE(Misdelete(Kind::kClique, CliqueObjectKey()).ok());
  EXPECT_TRUE(sees("ComputeDomainClique cdom-system/"));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(sees("DaemonSet cdom-system/"));
  ASSERT_TRUE(Misdelete(Kind::kClaimTemplate, DaemonKey()).ok());
  EXPECT_TRUE(sees("ResourceClaimTemplate cdom-system/"));
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(sees("ComputeDomain train/cd-1"));
  system.may_read_claims = false;
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
}

TEST_F(OraclesTest, S22LetsAllGoAfterTheGracePeriod) {
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(600));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
}

TEST_F(OraclesTest, S22LetsGoWhatNoJobUses) {
  LabelIdleNode();
  AllowRollUnderJob();
  cluster.DeleteDomain(kDomain);
  Mislabel("node-1", "");
  ASSERT_TRUE(Misdelete(Kind::kPod, DaemonOn("node-0")->key()).ok());  // The domain allows it.
  ASSERT_TRUE(Misdelete(Kind::kClaimTemplate, kWorkloadTemplate).ok());
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
}

TEST_F(OraclesTest, S22LetsJobsGoWhosePodsHaveEnded) {
  cluster.DeleteDomain(kDomain);
  for (const char* pod : {"job-0", "job-1"}) {
    store().Edit(
        "kubelet", Kind::kPod, {.ns = "train", .name = pod},
        [](Value& object) { object["status"]["phase"] = "Succeeded"; }, Subresource::kStatus);
  }
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
}

TEST_F(OraclesTest, S22CountsAJobAsOverWhenItsNodeWasLostForFiveMinutes) {
  SetDeletionGrace("20m");
  for (const char* node : {"node-0", "node-2"}) {
    store().Edit(
        "node-controller", Kind::kNode, {.name = node},
        [](Value& object) {
          for (Value& one : object["status"]["conditions"].MutableItems()) {
            if (one["type"].AsString() == "Ready") one["status"] = "Unknown";
          }
        },
        Subresource::kStatus);
  }
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(299));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(LiveJobsKeepAll), "took DaemonSet"));
  const std::size_t before = Find(LiveJobsKeepAll).size();
  cluster.Advance(seconds(1));
  ASSERT_TRUE(Misdelete(Kind::kClaimTemplate, DaemonKey()).ok());
  EXPECT_EQ(Find(LiveJobsKeepAll).size(), before);
}

TEST_F(OraclesTest, S22CountsAJobAsOverWhenItsNodeDoesNotExist) {
  for (const char* node : {"node-0", "node-2"}) {
    ASSERT_TRUE(store().Delete("user", Kind::kNode, {.name = node}).ok());
  }
  cluster.DeleteDomain(kDomain);
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
}

TEST_F(OraclesTest, S22ForgivesAJobThatCameAfterALookOfTheSamePass) {
  workload->Finish();
  Settle();
  LookAtClaims();
  cluster.AddWorkload({.ns = "train", .name = "late"}, "channel", {"node-0"});
  cluster.Settle();
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(2));
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  EXPECT_EQ(Check(LiveJobsKeepAll), "");
  cluster.Advance(seconds(1));
  ASSERT_TRUE(Misdelete(Kind::kClaimTemplate, DaemonKey()).ok());
  EXPECT_TRUE(Contains(Check(LiveJobsKeepAll), "took ResourceClaimTemplate cdom-system/"));
}

// ---- S8

TEST_F(OraclesTest, S8SeesAChildMadeBeforeTheFinalizer) {
  const kube::Uid second = cluster.CreateDomain({.ns = "train", .name = "cd-2"}, "other");
  store().Create("controller", Kind::kClaimTemplate, kSystem, DaemonTemplateObject(second));
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "before its domain had the finalizer"));
}

TEST_F(OraclesTest, REV3_H4_S8_S20AllowTheSameFastClock) {
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(595));
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "ResourceClaim train/job-0-channel-"));
  system.clocks_drift_per_million = 10'000;
  EXPECT_FALSE(Contains(Check(FinalizerDiscipline), "ResourceClaim train/"));
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "DaemonSet cdom-system/"));
}

TEST_F(OraclesTest, S8SeesTheFinalizerGoWhileAnythingRemains) {
  AskForDeletion();
  store().Edit("user", Kind::kNode, {.name = "node-1"},
               [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
  cluster.Settle();  // A daemon starts on node-1.
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  const std::string violations = Check(FinalizerDiscipline);
  for (const char* remnant :
       {"DaemonSet cdom-system/", "ResourceClaimTemplate cdom-system/",
        "ResourceClaimTemplate train/channel", "Node node-1", "ComputeDomainClique cdom-system/",
        "Pod cdom-system/", "ResourceClaim cdom-system/"}) {
    EXPECT_TRUE(Contains(violations, std::string("while ") + remnant));
  }
}

TEST_F(OraclesTest, S8SeesTheFinalizerGoWhileAWorkloadRuns) {
  cluster.DeleteDomain(kDomain);
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "while ResourceClaim train/job-0-channel-"));
}

TEST_F(OraclesTest, S8CountsTheGraceThatTheDomainAsksFor) {
  SetDeletionGrace("20m");
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(1'199));
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "while ResourceClaim train/job-0-channel-"));
}

TEST_F(OraclesTest, S8SeesTheFinalizerGoFromADomainThatStays) {
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(FinalizerDiscipline), "which is not being deleted"));
}

TEST_F(OraclesTest, S8ForgivesOnlyAfterALiveLookDuringTheDeletion) {
  AskForDeletion();
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique}) {
    const Objects objects = store().Live(kind);
    for (const auto& [key, object] : objects) Misdelete(kind, key);
  }
  cluster.Settle();
  const auto label_late = [&] {
    store().Edit("user", Kind::kNode, {.name = "node-1"},
                 [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
  };
  (void)cluster.server().Handle("controller", kube::ListRequest(kube::kNodes, {}));
  label_late();
  Misedit(Kind::kComputeDomain, kDomain,
          [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_EQ(Check(FinalizerDiscipline), "");
  EXPECT_TRUE(Contains(Check(NothingLeaked), "Node node-1")) << "but somebody must sweep it up";
}

// ---- S11, S13

TEST_F(OraclesTest, S11SeesASecondChildInARole) {
  Value twin = DaemonSetObject(uid, true);
  twin["metadata"]["name"] = "twin";
  store().Create("controller", Kind::kDaemonSet, kSystem, twin);
  EXPECT_TRUE(Contains(Check(NoDuplicateChild), "created DaemonSet cdom-system/twin beside"));
}

TEST_F(OraclesTest, S13SeesEveryRequestThatIsNotNeeded) {
  const std::vector<http::Request> wrong = {
      kube::GetRequest(kube::kNamespaces, {.name = "train"}),
      kube::ListRequest(kube::kDaemonSets, {}),
      kube::DeleteRequest(kube::kNodes, {.name = "node-0"}, "x", kube::Propagation::kBackground),
      kube::DeleteRequest(kube::kPods, {.ns = "train", .name = "job-0"}, "x",
                          kube::Propagation::kBackground),
      kube::MergePatchRequest(kube::kNodes, {.name = "node-0"}, Value::Object(), "status"),
      kube::CreateRequest(kube::kResourceClaimTemplates, "other", Value::Object()),
      kube::CreateRequest(kube::kResourceClaims, "train", Value::Object()),
      kube::GetRequest(kube::kLeases, {.ns = kSystem, .name = "kube-scheduler"}),
      {.path = "/api/v1/namespaces/train/secrets/x"},
      kube::CreateRequest(Describe(Kind::kEvent).resource, "other", Value::Object()),
      kube::MergePatchRequest(Describe(Kind::kEvent).resource, {.ns = "other", .name = "x"},
                              Value::Object()),
      kube::DeleteRequest(Describe(Kind::kEvent).resource, {.ns = "train", .name = "x"}, "x",
                          kube::Propagation::kBackground),
      kube::DeleteRequest(kube::kResourceClaimTemplates, {.ns = "train", .name = "../../other"},
                          "x", kube::Propagation::kBackground),
  };
  for (const http::Request& request : wrong) {
    const std::size_t before = Find(Confinement).size();
    (void)cluster.server().Handle("controller", request);
    EXPECT_EQ(Find(Confinement).size(), before + 1) << request.path;
  }
}

TEST_F(OraclesTest, S13LetsDiscoveryTheLeaseAndEventsPass) {
  const kube::Resource events = Describe(Kind::kEvent).resource;
  (void)cluster.server().Handle("controller", {.path = "/apis/resource.k8s.io/v1"});
  (void)cluster.server().Handle(
      "controller",
      kube::GetRequest(kube::kLeases, {.ns = kSystem, .name = std::string(kLeaseName)}));
  (void)cluster.server().Handle("controller",
                                kube::CreateRequest(events, "train", Value::Object()));
  EXPECT_EQ(Check(Confinement), "");
}

// ---- L1

TEST_F(OraclesTest, L1SeesEachChildThatIsMissing) {
  for (const auto& [kind, key, name] : std::vector<std::tuple<Kind, kube::ObjectKey, std::string>>{
           {Kind::kDaemonSet, DaemonKey(), "DaemonSet"},
           {Kind::kClaimTemplate, DaemonKey(), "daemon template"},
           {Kind::kClaimTemplate, kWorkloadTemplate, "workload template"}}) {
    store().Delete("user", kind, key);
    EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "has no " + name));
  }
}

TEST_F(OraclesTest, L1SeesAChildThatIsThereTwiceOrGoesAndADomainWithoutFinalizer) {
  system.any_daemon_name = true;
  Value twin = DaemonTemplateObject(uid);
  twin["metadata"]["name"] = "twin";
  twin["metadata"]["finalizers"] = Value::Array({"b/foreign"});
  ASSERT_TRUE(store().Create("user", Kind::kClaimTemplate, kSystem, twin).ok());
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "two children in the role daemon template"));
  store().Delete("user", Kind::kClaimTemplate, {.ns = kSystem, .name = "twin"});
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch),
                       "has ResourceClaimTemplate cdom-system/twin, which is being deleted"));
  store().Edit("user", Kind::kComputeDomain, kDomain,
               [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "has no finalizer"));
}

TEST_F(OraclesTest, L1SeesAMemberThatTheControllersCliqueDoesNotList) {
  store().Edit("user", Kind::kClique, CliqueObjectKey(),
               [](Value& clique) { clique["daemons"] = Value::Array(); });
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "has no clique entry for Pod cdom-system/"));
}

TEST_F(OraclesTest, L1SeesDaemonsOfAnotherImageOrAnOlderTemplate) {
  system.daemon_image = "other";
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "with a wrong image daemon"));
  system.daemon_image = "daemon";
  EXPECT_EQ(Check(ChildrenAndStatusMatch), "");
  ChangeTemplate();
  EXPECT_EQ(Check(ChildrenAndStatusMatch), "") << "a job runs";
  AllowRollUnderJob();
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "was made from an older template"));
  cluster.FailNode("node-2");
  cluster.Settle();
  cluster.Advance(NodeController::kMonitorGrace);
  Settle();
  EXPECT_EQ(Check(ChildrenAndStatusMatch), "") << "the others wait for it";
}

TEST_F(OraclesTest, L1SeesALabelThatNobodyUses) {
  store().Edit("user", Kind::kNode, {.name = "node-1"},
               [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
  Settle();
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "keeps node-1, which no claim of it is on"));
}

TEST_F(OraclesTest, L1SeesATemplateThatConfiguresAnotherDomain) {
  store().Delete("user", Kind::kClaimTemplate, kWorkloadTemplate);
  Value wrong = WorkloadTemplateObject("another", "cd-1", "channel");
  wrong["metadata"]["labels"][kDomainLabel] = uid;
  wrong["metadata"]["ownerReferences"].MutableItems().at(0)["uid"] = uid;
  store().Create("user", Kind::kClaimTemplate, "train", wrong);
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "a wrong device configuration"));
}

TEST_F(OraclesTest, L1SeesEachFieldOfAMemberThatIsWrong) {
  const Value right = (*store().Get(Kind::kComputeDomain, kDomain))["status"];
  const auto say = [&](std::string_view field, const Value& value) {
    store().Edit(
        "user", Kind::kComputeDomain, kDomain,
        [&](Value& domain) {
          domain["status"] = right;
          domain["status"]["nodes"].MutableItems().at(0)[field] = value;
        },
        Subresource::kStatus);
    return Check(ChildrenAndStatusMatch);
  };
  EXPECT_TRUE(Contains(say("ipAddress", "10.9.9.9"), "shows node-0 as {10.9.9.9"));
  EXPECT_TRUE(Contains(say("index", 5), "index 5"));
  EXPECT_TRUE(Contains(say("cliqueID", "c.2"), "c.2"));
  EXPECT_TRUE(Contains(say("status", "NotReady"), "NotReady} instead of"));
  EXPECT_TRUE(Contains(say("name", "node-9"), "shows node-9, which is no member"));
  EXPECT_TRUE(Contains(say("name", "node-9"), "does not show node-0"));
}

TEST_F(OraclesTest, L1SeesASummaryThatIsWrong) {
  const auto say = [&](std::string_view field, const Value& value) {
    store().Edit(
        "user", Kind::kComputeDomain, kDomain,
        [&](Value& domain) { domain["status"][field] = value; }, Subresource::kStatus);
    return Check(ChildrenAndStatusMatch);
  };
  EXPECT_TRUE(Contains(say("members", "1/2"), "sums up 1/2 instead of 2/2"));
  EXPECT_TRUE(Contains(say("observedGeneration", 7), "describes another generation"));
  const Value clique = Value::Object({{"id", "c.1"}, {"members", 2}, {"ready", 1}});
  EXPECT_TRUE(Contains(say("cliques", Value::Array({clique})), "miscounts the clique c.1"));
  EXPECT_TRUE(Contains(say("status", "NotReady"), "says \"NotReady\""));
}

TEST_F(OraclesTest, K1_L1SeesADomainCalledReadyThoughANodeWithAClaimDoesNotServe) {
  // Its kubelet does nothing, so that nothing but the claim says that a daemon is to serve there.
  cluster.FailNode("node-1");
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  cluster.Settle();
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "says \"Ready\""));
}

TEST_F(OraclesTest, K1_L1SeesAConditionReadyThatIsWrongEitherWay) {
  const auto say = [&](const char* ready) {
    store().Edit(
        "user", Kind::kComputeDomain, kDomain,
        [&](Value& domain) {
          domain["status"]["conditions"] =
              Value::Array({Value::Object({{"type", "Ready"},
                                           {"status", ready},
                                           {"reason", "Test"},
                                           {"message", ""},
                                           {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
        },
        Subresource::kStatus);
    return Check(ChildrenAndStatusMatch);
  };
  EXPECT_EQ(say("True"), "");
  EXPECT_TRUE(Contains(say("False"), "Ready=False though it is"));
  cluster.FailNode("node-0");
  cluster.Settle();
  cluster.Advance(NodeController::kMonitorGrace);
  cluster.Settle();
  EXPECT_TRUE(Contains(say("True"), "Ready=True though it is not"));
}

// node-0 is in a clique, node-2 has no fabric; both serve.
TEST_F(OraclesTest, G10_G11_G12_L1SeesWhatShouldBeKnownOfMembersThatIsNotSaid) {
  const std::string some = " Without NVLink fabric: node-2. ";
  const auto say = [&](const char* reason, const std::string& message) {
    store().Edit(
        "user", Kind::kComputeDomain, kDomain,
        [&](Value& domain) {
          domain["status"]["conditions"] = Value::Array();
          for (const char* type : {"MembersReady", "Ready"}) {
            domain["status"]["conditions"].Append(
                Value::Object({{"type", type},
                               {"status", "True"},
                               {"reason", reason},
                               {"message", message},
                               {"lastTransitionTime", "2026-01-01T00:00:00Z"}}));
          }
        },
        Subresource::kStatus);
    return Check(ChildrenAndStatusMatch);
  };
  const auto edit_node = [&](const char* name, const char* field, const Value& value) {
    store().Edit("user", Kind::kNode, {.name = name},
                 [&](Value& node) { node["spec"][field] = value; });
  };
  EXPECT_EQ(say("AllMembersReady", some), "");
  EXPECT_TRUE(Contains(say("AllMembersReady", ""), "does not say who has no fabric"));
  for (const std::string passing : {"MembersStarting", "MembersLeaving"}) {
    EXPECT_TRUE(Contains(say(passing.c_str(), some), "says " + passing + " at rest"));
  }
  EXPECT_TRUE(Contains(say("AllMembersReady", some + "No member has NVLink fabric"),
                       "says that it has no fabric"));
  EXPECT_TRUE(Contains(say("NoFabric", some), "reason NoFabric instead of AllMembersReady"));
  EXPECT_TRUE(Contains(say("AllMembersReady", some + "in 2 cliques"), "in use in 1 cliques"));
  EXPECT_TRUE(Contains(say("NodeLeaving", some + "About to leave: node-0 (cordoned). "),
                       "says that node-0 is about to leave"));
  edit_node("node-0", "unschedulable", true);
  edit_node("node-2", "taints",
            Value::Array({Value::Object({{"key", kDisruptedTaint}, {"effect", "NoSchedule"}})}));
  EXPECT_EQ(say("NodeLeaving", some + "About to leave: node-0, node-2. "), "");
  EXPECT_TRUE(Contains(say("NodeLeaving", some + "About to leave: node-0. "),
                       "does not say that node-2 is about to leave"));
  EXPECT_TRUE(Contains(say("AllMembersReady", some + "About to leave: node-0, node-2. "),
                       "reason AllMembersReady instead of NodeLeaving"));
  edit_node("node-0", "unschedulable", false);
  edit_node("node-2", "taints", Value::Array());
  workload->Finish();
  Workload& without = cluster.AddWorkload({.ns = "train", .name = "a"}, "channel", {"node-2"});
  Settle();
  EXPECT_FALSE(Contains(say("NoFabric", "No member has NVLink fabric"), "fabric"));
  EXPECT_TRUE(Contains(say("NoFabric", ""), "does not say that it has no fabric"));
  without.Finish();
  cluster.AddWorkload({.ns = "train", .name = "b"}, "channel", {"node-0"});
  Settle();
  EXPECT_FALSE(Contains(say("AllMembersReady", ""), "fabric"));
  EXPECT_TRUE(Contains(say("AllMembersReady", some), "says of somebody that he has no fabric"));
}

TEST_F(OraclesTest, L1SeesAMemberOfALostNodeThatIsShownReady) {
  cluster.FailNode("node-0");
  cluster.Settle();
  cluster.Advance(NodeController::kMonitorGrace);
  cluster.Settle();  // Without the controller.
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "shows node-0 as"));
  Settle();
  EXPECT_EQ(Check(ChildrenAndStatusMatch), "");
}

TEST_F(OraclesTest, L1SeesEntriesThatNobodyStandsBehind) {
  store().Edit("user", Kind::kClique, CliqueObjectKey(), [](Value& clique) {
    Value entry = clique["daemons"].items().at(0);
    entry["nodeName"] = "node-9";
    clique["daemons"].Append(entry);
  });
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "lists node-9, which has no daemon pod"));
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "gives the index of node-9 twice"));
}

TEST_F(OraclesTest, L1SeesAnEntryInACliqueThatItsNodeHasLeft) {
  Value before = store().Get(Kind::kClique, CliqueObjectKey())->value();
  before["metadata"] = Value::Object(
      {{"name", CliqueName(uid, "c.2")},
       {"labels",
        Value::Object({{std::string(kDomainLabel), uid}, {std::string(kCliqueLabel), "c.2"}})}});
  ASSERT_TRUE(store().Create("user", Kind::kClique, kSystem, before).ok());
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "lists node-0 in a clique that it has left"));
}

TEST_F(OraclesTest, L1SeesADomainThatDoesNotSayThatAQuotaLeavesNoRoom) {
  store().Delete("user", Kind::kClaimTemplate, kWorkloadTemplate);
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "has no workload template"));
  system.full_namespaces = {"train"};
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "does not say that a quota"));
  store().Edit(
      "user", Kind::kComputeDomain, kDomain,
      [&](Value& domain) {
        domain["status"]["conditions"] =
            Value::Array({Value::Object({{"type", "Ready"},
                                         {"status", "False"},
                                         {"reason", "Test"},
                                         {"message", "exceeded quota: templates"},
                                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
      },
      Subresource::kStatus);
  EXPECT_FALSE(Contains(Check(ChildrenAndStatusMatch), "quota"));
}

TEST_F(OraclesTest, L1SeesADomainSaidToBeWrittenByAnotherController) {
  store().Edit(
      "user", Kind::kComputeDomain, kDomain,
      [&](Value& domain) {
        domain["status"]["conditions"].Append(
            Value::Object({{"type", "Conflicted"},
                           {"status", "True"},
                           {"reason", "OtherControllerWrites"},
                           {"message", "test"},
                           {"lastTransitionTime", "2026-01-01T00:00:00Z"}}));
      },
      Subresource::kStatus);
  system.elect = true;
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "says that another controller writes it"));
}

TEST_F(OraclesTest, L1SeesADomainCalledReadyWhoseTemplatesNameIsTaken) {
  store().Delete("user", Kind::kClaimTemplate, kWorkloadTemplate);
  store().Create("user", Kind::kClaimTemplate, "train", ForeignTemplateObject("channel"));
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "says \"Ready\""));
}

// ---- D1

TEST_F(OraclesTest, D1SeesAnAnnotationThatIsAnother) {
  const auto end = [&] { return Course{.rests = {DescribeEnd(cluster.server(), system)}}; };
  const auto annotate = [&](Kind kind, const kube::ObjectKey& key, std::string_view name,
                            const char* value) {
    store().Edit("user", kind, key,
                 [&](Value& object) { object["metadata"]["annotations"][name] = value; });
  };
  const Course before = end();
  annotate(Kind::kClique, CliqueObjectKey(), "cdom.dev/held-indices", "node-9 until noon");
  EXPECT_EQ(SameEnd(end(), before), Violations()) << "it carries times";
  annotate(Kind::kClique, CliqueObjectKey(), "cdom.dev/joining", "3");
  EXPECT_EQ(SameEnd(end(), before), Violations()) << "it is of the last write";
  annotate(Kind::kDaemonSet, DaemonKey(), "cdom.dev/x", "3");
  EXPECT_TRUE(Contains(Lines(SameEnd(end(), before)), "\"cdom.dev/x\":\"3\""));
}

TEST_F(OraclesTest, D1SeesAHashThatIsNotTheLatestOrThatPodsDoNotGet) {
  const auto end = [&] { return Course{.rests = {DescribeEnd(cluster.server(), system)}}; };
  const auto stamp = [&](const char* hash) {
    store().Edit("user", Kind::kDaemonSet, DaemonKey(), [&](Value& set) {
      set["metadata"]["annotations"][kTemplateHashAnnotation] = std::string(hash) + ":7";
      set["spec"]["template"]["metadata"]["annotations"][kTemplateHashAnnotation] = hash;
    });
  };
  stamp("a1b2");
  const Course first = end();
  stamp("c3d4");
  const Course second = end();
  EXPECT_TRUE(Contains(Lines(SameEnd(second, first)), "hash 2"));
  ChangeTemplate();
  EXPECT_TRUE(Contains(Lines(SameEnd(end(), second)), "\"cdom.dev/template-hash\":\"new\""));
}

// ---- L2, L3, Q2

TEST_F(OraclesTest, L2SeesADeletionThatNothingHolds) {
  AskForDeletion();
  const Objects sets = store().Live(Kind::kDaemonSet);
  for (const auto& [key, set] : sets) store().Delete("user", Kind::kDaemonSet, key);
  cluster.Settle();
  EXPECT_TRUE(Contains(Check(DeletionCompletes), "although nothing holds it"));
}

TEST_F(OraclesTest, L2SeesADeletionThatWaitsWithoutSayingForWhom) {
  cluster.DeleteDomain(kDomain);
  Settle();
  EXPECT_TRUE(Contains(Check(DeletionCompletes), "does not say that it waits for"));
  const Value condition = Value::Object({{"type", "DeletionBlocked"},
                                         {"status", "True"},
                                         {"reason", "ConsumersRemain"},
                                         {"message", "waits for pods/job-0 (job-0-channel-ccccc)"},
                                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  std::string name;
  for (const auto& [key, claim] : store().Live(Kind::kClaim)) {
    if (key.ns == "train") name = key.name;
  }
  store().Edit(
      "user", Kind::kComputeDomain, kDomain,
      [&](Value& domain) {
        Value said = condition;
        said["message"] = "waits for claim " + name;
        domain["status"]["conditions"] = Value::Array({said});
      },
      Subresource::kStatus);
  EXPECT_EQ(Check(DeletionCompletes), "");
}

TEST_F(OraclesTest, L3SeesEverythingThatIsLeftBehind) {
  store().Edit("user", Kind::kComputeDomain, kDomain,
               [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  cluster.DeleteDomain(kDomain);
  const std::string violations = Check(NothingLeaked);
  for (const char* leaked : {"DaemonSet cdom-system/", "ResourceClaimTemplate cdom-system/",
                             "ResourceClaimTemplate train/channel", "Node node-0",
                             "ComputeDomainClique cdom-system/", "Pod cdom-system/"}) {
    EXPECT_TRUE(Contains(violations, std::string(leaked)));
  }
}

TEST_F(OraclesTest, L3IgnoresWhatAStrangerForged) {
  store().Create("user", Kind::kClaimTemplate, "other",
                 WorkloadTemplateObject(uid, "cd-1", "forged"));
  store().Edit("user", Kind::kClaimTemplate, {.ns = "other", .name = "forged"},
               [](Value& forged) { forged["metadata"].Erase("ownerReferences"); });
  AskForDeletion();
  Settle();
  EXPECT_EQ(Check(NothingLeaked), "");
}

TEST_F(OraclesTest, Q2SeesAnyRequestAtRestButWatchesAndTheLease) {
  const ApiServer& server = cluster.server();
  const std::size_t since = server.requests().size();
  (void)cluster.server().OpenWatch(
      "controller",
      kube::WatchRequest(kube::kNodes, {.resource_version = std::to_string(store().revision())}));
  (void)cluster.server().Handle(
      "controller",
      kube::GetRequest(kube::kLeases, {.ns = kSystem, .name = std::string(kLeaseName)}));
  (void)cluster.server().Handle("somebody", kube::ListRequest(kube::kNodes, {}));
  EXPECT_TRUE(QuietAtRest(server, system, since).empty());
  (void)cluster.server().Handle("controller", kube::ListRequest(kube::kNodes, {}));
  ASSERT_EQ(QuietAtRest(server, system, since).size(), 1U);
  EXPECT_EQ(QuietAtRest(server, system, since).front(),
            "Q2 QuietAtRest: controller sent list nodes");
  system.silence = std::chrono::seconds(1);
  EXPECT_TRUE(QuietAtRest(server, system, since).empty()) << "its watch is silent";
}

}  // namespace
}  // namespace simulation

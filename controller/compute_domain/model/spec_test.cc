#include "controller/compute_domain/model/spec.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/model/ownership.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using std::chrono::seconds;

TEST(FindObjection, DomainWithNameAndSpecIsAccepted) { EXPECT_FALSE(ValidateDomain(Converged())); }

TEST(FindObjection, B40_NameThatIsNoNameIsRefusedWithAnExample) {
  Observed observed = Converged();
  observed.domain->template_name = "a\nkind: Pod";
  const auto objection = ValidateDomain(observed);
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->reason, "TemplateNameInvalid");
  EXPECT_NE(objection->message.find("spec.channel.resourceClaimTemplate.name"), std::string::npos);
  EXPECT_NE(objection->message.find("train-channel"), std::string::npos);
}

TEST(DeletionGrace, AnnotationOfTheDomainGoesFirst) {
  Observed observed = Converged();
  observed.facts.settings.Edit().deletion_grace = seconds(600);
  EXPECT_EQ(DeletionGrace(observed), seconds(600));
  observed.domain->deletion_grace = "1m30s";
  EXPECT_EQ(DeletionGrace(observed), seconds(90));
  observed.domain->deletion_grace = "0";
  EXPECT_EQ(DeletionGrace(observed), seconds(0));
  EXPECT_FALSE(FindInvalidAnnotation(observed));
}

TEST(DeletionGrace, AnnotationThatIsNoDurationIsNotHeededAndNamed) {
  Observed observed = Converged();
  observed.facts.settings.Edit().deletion_grace = seconds(600);
  observed.domain->deletion_grace = "soon";
  EXPECT_EQ(DeletionGrace(observed), seconds(600));
  const auto invalid = FindInvalidAnnotation(observed);
  ASSERT_TRUE(invalid);
  EXPECT_EQ(invalid->reason, "AnnotationInvalid");
  EXPECT_NE(invalid->message.find("cdom.dev/deletion-grace"), std::string::npos);
  EXPECT_NE(invalid->message.find("15s"), std::string::npos);
}

TEST(IsPaused, OnlyTrueIsAPauseAndAnythingElseIsNamed) {
  Observed observed = Converged();
  EXPECT_FALSE(IsPaused(observed));
  for (const char* value : {"true", "false"}) {
    observed.domain->paused = value;
    EXPECT_EQ(IsPaused(observed), observed.domain->paused == "true");
    EXPECT_FALSE(FindInvalidAnnotation(observed)) << value;
  }
  observed.domain->paused = "yes";
  EXPECT_FALSE(IsPaused(observed));
  const auto invalid = FindInvalidAnnotation(observed);
  ASSERT_TRUE(invalid);
  EXPECT_NE(invalid->message.find("cdom.dev/paused"), std::string::npos);
}

TEST(IsProvisioned, C4_StatusSaysItWithAndWithoutConditions) {
  Observed observed = fixtures::Converged();
  observed.children = {};
  EXPECT_TRUE(IsProvisioned(observed));
  observed.domain->status.status = "NotReady";
  EXPECT_TRUE(IsProvisioned(observed)) << "its condition";
  fixtures::ConditionOf(observed.domain->status, "Provisioned").status = "False";
  EXPECT_FALSE(IsProvisioned(observed));
  observed.domain->status = {.status = "Ready"};
  EXPECT_TRUE(IsProvisioned(observed)) << "a CRD without conditions";
}

TEST(IsProvisioned, REV4_K9_ChildrenThatAreSeen_ShowIt) {
  using Change = void (*)(Observed&);
  const std::vector<Change> losses = {
      [](Observed& o) { o.children.daemon_sets.clear(); },
      [](Observed& o) { o.children.templates.pop_back(); },
      [](Observed& o) { o.children.templates.erase(o.children.templates.begin()); }};
  Observed seen = fixtures::Converged();
  seen.domain->status = {.status = "NotReady"};
  EXPECT_TRUE(IsProvisioned(seen));
  for (const Change& lose : losses) {
    Observed observed = seen;
    lose(observed);
    EXPECT_FALSE(IsProvisioned(observed)) << "one is missing";
    observed.facts.views.freshness[Kind::kDaemonSet] =
        observed.facts.views.freshness[Kind::kClaimTemplate] = Freshness::kUnknown;
    EXPECT_TRUE(IsProvisioned(observed)) << "a daemon pod shows it";
    observed.children.daemon_pods.clear();
    EXPECT_FALSE(IsProvisioned(observed));
    observed.facts.views = {};
    observed.facts.settings.Edit().imex_on_hosts = true;
    EXPECT_EQ(IsProvisioned(observed), observed.children.templates.size() == 2 ||
                                           observed.children.templates[0].target == "Workload")
        << "only the template of the workload is needed";
  }
}

TEST(FindInvalidAnnotation, C5_RollThatIsNoWordOfOursIsSaid) {
  Observed observed = fixtures::Converged();
  for (const char* word : {"", "Always", "WhenIdle"}) {
    observed.domain->daemon_roll = word;
    EXPECT_FALSE(FindInvalidAnnotation(observed)) << word;
  }
  observed.domain->daemon_roll = "always";
  ASSERT_TRUE(FindInvalidAnnotation(observed));
  EXPECT_NE(FindInvalidAnnotation(observed)->message.find("use Always or WhenIdle"),
            std::string::npos);
}

TEST(IsPlaced, G12_OnlyByAWordThatPoliciesKnowAndAnyOtherIsNamed) {
  Observed observed = fixtures::Converged();
  EXPECT_FALSE(IsPlaced(observed));
  for (const char* word : {"clique", "exclusive-clique"}) {
    observed.domain->placement = word;
    EXPECT_TRUE(IsPlaced(observed)) << word;
    EXPECT_FALSE(FindInvalidAnnotation(observed)) << word;
  }
  observed.domain->placement = "rack";
  EXPECT_FALSE(IsPlaced(observed));
  const auto invalid = FindInvalidAnnotation(observed);
  ASSERT_TRUE(invalid);
  EXPECT_EQ(invalid->reason, "AnnotationInvalid");
  EXPECT_EQ(invalid->message,
            "Label cdom.dev/placement is ignored: use clique, exclusive-clique or any.");
  observed.domain->placement = "any";
  EXPECT_FALSE(IsPlaced(observed));
  EXPECT_TRUE(MaySpanCliques(observed));
  EXPECT_FALSE(FindInvalidAnnotation(observed));
}

TEST(FindGpus, F5_AnnotationsSayHowManyAndOfWhichClass) {
  Observed observed = Converged();
  EXPECT_TRUE(FindGpus(observed).is_clear);
  EXPECT_FALSE(FindGpus(observed).gpus);
  observed.domain->gpus = "4";
  ASSERT_TRUE(FindGpus(observed).gpus);
  EXPECT_EQ(FindGpus(observed).gpus->count, 4);
  EXPECT_EQ(FindGpus(observed).gpus->device_class, "gpu.nvidia.com");
  observed.domain->gpus = "All";
  observed.domain->gpu_class = "gpu.example.com";
  ASSERT_TRUE(FindGpus(observed).gpus);
  EXPECT_EQ(FindGpus(observed).gpus->count, 0);
  EXPECT_EQ(FindGpus(observed).gpus->device_class, "gpu.example.com");
  EXPECT_FALSE(FindInvalidAnnotation(observed));
}

TEST(NumberOfGpus, REV4_7_IsOfTheClassWhoseGpusCanBeCounted) {
  Observed observed = Converged();
  EXPECT_EQ(NumberOfGpus(observed), 0);
  observed.domain->gpus = "4";
  EXPECT_EQ(NumberOfGpus(observed), 4);
  observed.domain->gpu_class = "gpu.example.com";
  EXPECT_EQ(NumberOfGpus(observed), 0);
}

TEST(FindGpus, F5_NumberThatNoClaimCanHaveIsNamedWithItsForm) {
  Observed observed = Converged();
  for (const char* number : {"1", "31"}) {
    observed.domain->gpus = number;
    EXPECT_FALSE(FindInvalidAnnotation(observed)) << number;
  }
  for (const char* number : {"0", "-1", "32", "99999999999", "4 ", "+4", "4.0", "all", "four"}) {
    observed.domain->gpus = number;
    EXPECT_FALSE(FindGpus(observed).is_clear) << number;
    EXPECT_FALSE(FindGpus(observed).gpus) << number;
    const auto invalid = FindInvalidAnnotation(observed);
    ASSERT_TRUE(invalid) << number;
    EXPECT_EQ(invalid->reason, "AnnotationInvalid");
    EXPECT_EQ(invalid->message,
              "Annotation cdom.dev/gpus is ignored, and the claim template stays as it is, or is "
              "created without GPUs: use a number from 1 to 31, or All for all of a node.");
  }
}

TEST(FindGpus, F5_ClassThatIsNoneOfGpusIsNamedAndOneAloneAsksForNothing) {
  Observed observed = Converged();
  observed.domain->gpus = "4";
  for (const char* name : {"Gpu", "a\nkind: Pod", "compute-domain-daemon.nvidia.com",
                           "compute-domain-default-channel.nvidia.com"}) {
    observed.domain->gpu_class = name;
    EXPECT_FALSE(FindGpus(observed).is_clear) << name;
    const auto invalid = FindInvalidAnnotation(observed);
    ASSERT_TRUE(invalid) << name;
    EXPECT_NE(invalid->message.find("Annotation cdom.dev/gpu-class is ignored"), std::string::npos);
    EXPECT_NE(invalid->message.find("such as gpu.nvidia.com."), std::string::npos);
  }
  observed.domain->gpu_class = "gpu.example.com";
  EXPECT_TRUE(FindGpus(observed).is_clear);
  observed.domain->gpus.clear();
  ASSERT_TRUE(FindInvalidAnnotation(observed));
  EXPECT_NE(FindInvalidAnnotation(observed)->message.find("use it together with cdom.dev/gpus."),
            std::string::npos);
}

TEST(FindInvalidAnnotation, REV3_W7_AllThatIsInvalid_IsInOneMessage) {
  Observed observed = Converged();
  observed.domain->gpus = "lots";
  observed.domain->gpu_class = "Not a class";
  observed.domain->deletion_grace = "5";
  observed.domain->paused = "yes";
  observed.domain->daemon_roll = "now";
  observed.domain->placement = "rack";
  observed.domain->placement_group = "a b";
  const auto invalid = FindInvalidAnnotation(observed);
  ASSERT_TRUE(invalid);
  for (const char* key :
       {"cdom.dev/gpus is ignored", "cdom.dev/gpu-class is ignored",
        "cdom.dev/deletion-grace is ignored: ", "cdom.dev/paused is ignored: use true or false.",
        "cdom.dev/daemon-roll is ignored", "cdom.dev/placement is ignored",
        "cdom.dev/placement-group-label is invalid: use the key of a label"}) {
    EXPECT_NE(invalid->message.find(key), std::string::npos) << key << " in " << invalid->message;
  }
}

TEST(FindInvalidAnnotation, REV3_W7_LabelKeysOfGroups_AreValid) {
  Observed observed = Converged();
  for (const char* key : {"rank", "example.com/rank", "a-b_c.d"}) {
    observed.domain->placement_group = key;
    EXPECT_FALSE(FindInvalidAnnotation(observed)) << key;
  }
  for (const char* key : {"a b", "example.com/", "/rank", "Example/rank", "a/b/c", "-a"}) {
    observed.domain->placement_group = key;
    EXPECT_TRUE(FindInvalidAnnotation(observed)) << key;
  }
}

TEST(FindInvalidAnnotation, REV3_W7_UnknownKey_IsToldWithTheNearest_OrTheRightPlace) {
  using Keys = std::vector<std::string>;
  const auto message = [](const Keys& annotations, const Keys& labels) {
    Observed observed = Converged();
    observed.domain->unknown_annotations = annotations;
    observed.domain->unknown_labels = labels;
    return FindInvalidAnnotation(observed)->message;
  };
  EXPECT_EQ(message({"cdom.dev/deletion-grase", "cdom.dev/placement"},
                    {"cdom.dev/gpus", "cdom.dev/owner-of-the-team"}),
            "Unknown, and ignored: annotation cdom.dev/deletion-grase (did you mean "
            "cdom.dev/deletion-grace?), annotation cdom.dev/placement (make it a label), label "
            "cdom.dev/gpus (make it an annotation), label cdom.dev/owner-of-the-team.");
  const std::string many = message({}, Keys(32, "cdom.dev/x"));
  EXPECT_TRUE(many.ends_with(" and 27 more.")) << many;
  EXPECT_LT(many.size(), 500U);
}

TEST(ValidateDomain, REV3_F4_DomainWithMoreFinalizersThanAreKeptGetsNone) {
  Observed observed = fixtures::Converged();
  observed.domain->meta.is_whole = false;
  EXPECT_FALSE(ValidateDomain(observed)) << "it has ours";
  observed.domain->meta.finalizers.clear();
  const std::optional<Failure> objection = ValidateDomain(observed);
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->reason, "ProvisioningFailed");
}

TEST(NamespacesToRead, REV3_F1_RefusedNamespaceIsReadOnlyWhereSomethingWasSeenInIt) {
  using Change = void (*)(Observed&);
  const std::vector<Change> seen = {
      [](Observed& o) { o.children.daemon_sets[0].meta.key.ns = fixtures::kOldDriverNs; },
      [](Observed& o) { o.children.templates[0].meta.key.ns = fixtures::kOldDriverNs; },
      [](Observed& o) { o.children.cliques[0].meta.key.ns = fixtures::kOldDriverNs; },
      [](Observed& o) { o.children.daemon_pods[0].meta.key.ns = fixtures::kOldDriverNs; },
      [](Observed& o) { o.children.claims[0].meta.key.ns = fixtures::kOldDriverNs; }};
  Observed observed = fixtures::Converged();
  EXPECT_EQ(NamespacesToRead(observed).size(), 2U);
  observed.facts.views.unreadable_namespaces = {fixtures::kOldDriverNs};
  EXPECT_EQ(NamespacesToRead(observed).size(), 1U);
  for (const Change& change : seen) {
    Observed holds = observed;
    change(holds);
    EXPECT_EQ(NamespacesToRead(holds).size(), 2U);
  }
}

}  // namespace
}  // namespace compute_domain

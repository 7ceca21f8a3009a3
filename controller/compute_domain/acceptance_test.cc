#include "controller/compute_domain/acceptance.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using std::chrono::seconds;

TEST(FindObjection, DomainWithNameAndSpecIsAccepted) { EXPECT_FALSE(FindObjection(Converged())); }

TEST(FindObjection, B40_NameThatIsNoNameIsRefusedWithAnExample) {
  Observed observed = Converged();
  observed.domain->template_name = "a\nkind: Pod";
  const auto objection = FindObjection(observed);
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->reason, "TemplateNameInvalid");
  EXPECT_NE(objection->message.find("spec.channel.resourceClaimTemplate.name"), std::string::npos);
  EXPECT_NE(objection->message.find("train-channel"), std::string::npos);
}

TEST(DeletionGrace, AnnotationOfTheDomainGoesFirst) {
  Observed observed = Converged();
  observed.facts.deletion_grace = seconds(600);
  EXPECT_EQ(DeletionGrace(observed), seconds(600));
  observed.domain->deletion_grace = "1m30s";
  EXPECT_EQ(DeletionGrace(observed), seconds(90));
  observed.domain->deletion_grace = "0";
  EXPECT_EQ(DeletionGrace(observed), seconds(0));
  EXPECT_FALSE(FindInvalidAnnotation(observed));
}

TEST(DeletionGrace, AnnotationThatIsNoDurationIsNotHeededAndNamed) {
  Observed observed = Converged();
  observed.facts.deletion_grace = seconds(600);
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
  EXPECT_TRUE(IsProvisioned(observed));
  observed.domain->status.status = "NotReady";
  EXPECT_TRUE(IsProvisioned(observed)) << "its condition";
  fixtures::ConditionOf(observed.domain->status, "Provisioned").status = "False";
  EXPECT_FALSE(IsProvisioned(observed));
  observed.domain->status = {.status = "Ready"};
  EXPECT_TRUE(IsProvisioned(observed)) << "a CRD without conditions";
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

}  // namespace
}  // namespace compute_domain

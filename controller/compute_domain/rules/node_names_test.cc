#include "controller/compute_domain/rules/node_names.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using daemon_set::NodeNames;
using fixtures::Actions;
using fixtures::Converged;

// Of a domain that an older release of cdom made, with its daemons and a job.
Observed OfBefore() {
  Observed observed = Converged();
  observed.children.daemon_sets.front().template_hash = "of before";
  observed.facts.settings.Edit().daemons.controller_writes = true;
  observed.memory.rendered = {};
  return observed;
}

Observed IdleOfBefore() {
  Observed observed = OfBefore();
  observed.children.daemon_pods.clear();
  observed.children.claims.clear();
  return observed;
}

std::vector<WritePodTemplate> TemplatesWritten(const Observed& observed) {
  return Actions<WritePodTemplate>(PlanChildren(observed));
}

bool GivesOwnNames(const WritePodTemplate& write) {
  return write.pod_template["metadata"]["annotations"][api::kNodeNamesAnnotation].AsString() ==
         api::kNodeNamesOfDomain;
}

TEST(NodeNames, REV4_Y1_NewDomainHasNamesOfItsOwn) {
  Observed observed = IdleOfBefore();
  observed.children.daemon_sets.clear();
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kOfDomain);
  EXPECT_FALSE(ReadBeforeNamesChange(observed));
  observed.facts.settings.Edit().daemons.controller_writes = false;
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kShared) << "the daemons may be NVIDIA's";
}

TEST(NodeNames, REV4_Y12_DaemonSetThatIsMadeAgainUnderAJobKeepsTheNames) {
  Observed observed = OfBefore();
  observed.children.daemon_sets.clear();
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kShared);
  observed.children.daemon_pods.front().has_own_names = true;
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kOfDomain);
}

TEST(NodeNames, REV4_Y12_DaemonSetOfAnotherDomainRecordsNothingForThisOne) {
  Observed observed = OfBefore();
  observed.children.daemon_sets.front().has_own_names = true;
  observed.children.daemon_sets.front().domain = "another";
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kShared);
}

TEST(NodeNames, REV4_Y12_TemplateThatIsRepairedUnderAJobKeepsTheNames) {
  const auto written = TemplatesWritten(OfBefore());
  ASSERT_EQ(written.size(), 1U);
  EXPECT_FALSE(GivesOwnNames(written.front()));
  Observed observed = OfBefore();
  observed.children.daemon_sets.front().has_own_names = true;
  const auto repaired = TemplatesWritten(observed);
  ASSERT_EQ(repaired.size(), 1U);
  EXPECT_TRUE(GivesOwnNames(repaired.front()));
}

TEST(NodeNames, REV4_Y12_NamesChangeOnceALiveReadShowsNoDaemonAndNoClaim) {
  Observed observed = IdleOfBefore();
  EXPECT_EQ(Actions<ReadDaemons>(PlanChildren(observed)).size(), 1U);
  observed.evidence.daemon_pods = std::vector<api::DaemonPod>();
  EXPECT_EQ(Actions<ReadClaims>(PlanChildren(observed)).size(), 1U);
  EXPECT_TRUE(TemplatesWritten(observed).empty());
  observed.evidence.claims = std::vector<api::ResourceClaim>();
  const auto written = TemplatesWritten(observed);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_TRUE(GivesOwnNames(written.front()));
}

TEST(NodeNames, REV4_Y12_NamesStayWhileADaemonMayRun) {
  const Observed job = OfBefore();
  Observed claimed = IdleOfBefore();
  claimed.children.claims = job.children.claims;
  EXPECT_EQ(NodeNamesOf(claimed), NodeNames::kShared);
  Observed daemons = IdleOfBefore();
  daemons.children.daemon_pods = job.children.daemon_pods;
  EXPECT_EQ(NodeNamesOf(daemons), NodeNames::kShared);
  Observed unread = IdleOfBefore();
  unread.facts.views.problems[Kind::kDaemonPod] = "403";
  EXPECT_EQ(NodeNamesOf(unread), NodeNames::kShared);
  Observed lagging = IdleOfBefore();
  lagging.evidence.daemon_pods = job.children.daemon_pods;
  EXPECT_EQ(NodeNamesOf(lagging), NodeNames::kShared);
  Observed started = IdleOfBefore();
  started.evidence.daemon_pods = std::vector<api::DaemonPod>();
  started.evidence.claims = job.children.claims;
  EXPECT_EQ(NodeNamesOf(started), NodeNames::kShared);
}

TEST(NodeNames, DaemonsOfNvidiaGetNoNamesOfTheirDomain) {
  Observed observed = IdleOfBefore();
  observed.facts.settings.Edit().daemons.controller_writes = false;
  observed.children.daemon_sets.front().has_own_names = true;
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kShared);
  observed.children.daemon_pods = OfBefore().children.daemon_pods;
  EXPECT_EQ(NodeNamesOf(observed), NodeNames::kOfDomain) << "daemons of cdom still run";
}

TEST(RenderedDaemonSet, IsUnknownOnceTheNamesChange) {
  Observed observed = OfBefore();
  observed.memory.rendered = HashChildren(observed);
  EXPECT_FALSE(RenderedDaemonSet(observed).empty());
  observed.children.daemon_sets.front().has_own_names = true;
  EXPECT_EQ(RenderedDaemonSet(observed), "");
}

}  // namespace
}  // namespace compute_domain

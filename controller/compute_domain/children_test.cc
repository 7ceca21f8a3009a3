#include "controller/compute_domain/children.h"

#include <gtest/gtest.h>

#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Actions;
using fixtures::Converged;

// The stamp of each child as the controller would make it now.
std::map<Kind, std::string> StampsOfNewChildren() {
  Observed observed = Converged();
  observed.children.daemon_sets.clear();
  observed.children.templates.clear();
  std::map<Kind, std::string> stamps;
  for (const Create& create : Actions<Create>(PlanChildren(observed))) {
    const bool is_workload = create.key.ns == fixtures::kUserNs;
    const auto stamp = create.object["metadata"]["annotations"]["cdom.dev/template-hash"];
    stamps[is_workload ? Kind::kClaim : create.kind] = stamp.AsString();
  }
  return stamps;
}

// A domain whose children were all made by this controller.
Observed Stamped() {
  Observed observed = Converged();
  auto stamps = StampsOfNewChildren();
  api::DaemonSet& set = observed.children.daemon_sets[0];
  const std::string& stamp = stamps[Kind::kDaemonSet];
  set.template_hash = stamp.substr(0, stamp.find(':'));
  set.template_generation = set.meta.generation = 1;
  observed.children.templates[0].template_hash = stamps[Kind::kClaimTemplate];
  observed.children.templates[1].template_hash = stamps[Kind::kClaim];
  return observed;
}

TEST(PlanChildren, Q2_ChildrenAsTheyWereMadeAreLeftAlone) {
  EXPECT_TRUE(PlanChildren(Stamped()).empty());
}

TEST(PlanChildren, F28_OtherVersionOfTheApiIsNoChangeOfATemplate) {
  Observed observed = Stamped();
  observed.facts.template_version = "v1beta1";
  EXPECT_TRUE(PlanChildren(observed).empty());
}

TEST(PlanChildren, ChildrenThatSomebodyElseMadeStayAsTheyAre) {
  EXPECT_TRUE(PlanChildren(Converged()).empty());
}

TEST(PlanChildren, B37_ChangedSettingReplacesThePodTemplateUnderItsHash) {
  Observed observed = Stamped();
  observed.children.daemon_sets[0].meta.resource_version = "77";
  observed.facts.daemons.image = "registry.example/cdom:2";
  const auto actions = PlanChildren(observed);
  const auto writes = Actions<WritePodTemplate>(actions);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(actions.size(), 1U);
  EXPECT_EQ(writes[0].daemon_set.resource_version, "77");
  const json::Value& made = writes[0].pod_template;
  EXPECT_EQ(made["spec"]["containers"].items()[0]["image"].AsString(), "registry.example/cdom:2");
  const std::string hash(made["metadata"]["annotations"]["cdom.dev/template-hash"].AsString());
  EXPECT_NE(hash, observed.children.daemon_sets[0].template_hash);
  EXPECT_EQ(writes[0].stamp, hash + ":2") << "the generation that this write makes";
}

TEST(PlanChildren, B37_EditOfTheDaemonSetIsUndone) {
  Observed observed = Stamped();
  observed.children.daemon_sets[0].meta.generation = 5;
  const auto writes = Actions<WritePodTemplate>(PlanChildren(observed));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].stamp, observed.children.daemon_sets[0].template_hash + ":6");
  EXPECT_EQ(
      writes[0].pod_template["metadata"]["annotations"]["cdom.dev/repaired-generation"].AsString(),
      "5")
      << "or a write that changes nothing would leave the generation as it is";
}

TEST(PlanChildren, B37_ClaimTemplateOfAnotherHashIsDeletedToBeMadeAgain) {
  for (const std::size_t i : {0U, 1U}) {
    Observed observed = Stamped();
    api::ClaimTemplate& outdated = observed.children.templates[i];
    outdated.template_hash = "older";
    const auto actions = PlanChildren(observed);
    const auto deletions = Actions<Delete>(actions);
    ASSERT_EQ(deletions.size(), 1U);
    EXPECT_EQ(actions.size(), 1U);
    EXPECT_EQ(deletions[0].key, outdated.meta.key);
    EXPECT_EQ(deletions[0].uid, outdated.meta.uid);
  }
}

TEST(PlanChildren, B27_TemplateThatStaysCountsBeforeOneThatGoes) {
  for (const bool deleted_first : {false, true}) {
    Observed observed = Converged();
    auto& templates = observed.children.templates;
    api::ClaimTemplate old = templates[0];
    old.meta.key.name = "computedomain-daemon-x2b4";
    fixtures::Delete(old.meta, {std::string(api::kFinalizer)});
    templates.insert(deleted_first ? templates.begin() : templates.end(), old);
    EXPECT_TRUE(PlanChildren(observed).empty());
    EXPECT_TRUE(FindChildren(observed).terminating.empty());
  }
}

TEST(PlanChildren, R5_RefusedCreateIsNoLiveReadOfADeletedChild) {
  Observed observed = Converged();
  kube::ObjectMeta& set = observed.children.daemon_sets[0].meta;
  fixtures::Delete(set, {std::string(api::kFinalizer)});
  observed.evidence.taken[{Kind::kDaemonSet, set.key}] = std::nullopt;
  const auto reads = Actions<ReadTaken>(PlanChildren(observed));
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].key, set.key);
}

TEST(FindChildren, B39_NameThatSomebodyElseHoldsIsNoChild) {
  Observed observed = Converged();
  observed.children.daemon_sets.clear();
  auto& taken = observed.evidence.taken[{Kind::kDaemonSet, fixtures::MakeDaemonSet().meta.key}];
  taken.emplace(Evidence::Taken{.meta = fixtures::MakeDaemonSet().meta, .domain = fixtures::kUid});
  EXPECT_TRUE(FindChildren(observed).missing.empty()) << "ours, and the cache is behind";
  (*taken)->domain = fixtures::kOtherUid;
  EXPECT_EQ(FindChildren(observed).missing.size(), 1U);
}

}  // namespace
}  // namespace compute_domain

#include "controller/compute_domain/model/finding.h"

#include <gtest/gtest.h>

#include <utility>

namespace compute_domain {
namespace {

// After one finding.
Observed After(Observed observed, Finding finding) {
  return Learn(std::move(observed), {std::move(finding)});
}

api::Node NodeOf(const std::string& name, const std::string& domain) {
  api::Node node;
  node.meta.key.name = name;
  node.domain = domain;
  return node;
}

api::Clique CliqueOf(const std::string& uid, const std::string& version) {
  api::Clique clique;
  clique.meta.uid = uid;
  clique.meta.resource_version = version;
  return clique;
}

TEST(Learn, Owner_OrItsAbsence_IsEvidence) {
  EXPECT_EQ(After(Observed(), OwnerFound()).evidence.LiveOwner(), nullptr);
  EXPECT_TRUE(After(Observed(), OwnerFound()).evidence.owner);
  const Observed found = After(Observed(), OwnerFound{.owner = kube::ObjectMeta{.uid = "u"}});
  ASSERT_NE(found.evidence.LiveOwner(), nullptr);
  EXPECT_EQ(found.evidence.LiveOwner()->uid, "u");
}

TEST(Learn, NodesOfFoundChildren_ReplaceThoseOfTheCache) {
  Observed before;
  before.nodes["a"] = NodeOf("a", "");
  const Observed after =
      After(before, ChildrenFound{.children = {.labelled_nodes = {NodeOf("a", "u")}}});
  EXPECT_EQ(after.nodes.at("a").domain, "u");
  EXPECT_EQ(after.evidence.children->labelled_nodes.size(), 1U);
}

TEST(Learn, CliquesReplaceThoseOfTheCache_OnlyIfTheyAreNewer) {
  Observed before;
  before.children.cliques = {CliqueOf("c", "1")};
  for (const bool is_newer : {false, true}) {
    const Observed after =
        After(before, DaemonsFound{.cliques = {CliqueOf("c", "2")}, .is_newer = is_newer});
    EXPECT_EQ(after.children.cliques[0].meta.resource_version, is_newer ? "2" : "1");
    EXPECT_EQ(after.evidence.cliques[0].meta.resource_version, "2");
    EXPECT_TRUE(after.evidence.daemon_pods);
  }
}

TEST(Learn, ClaimsAndNodes_AreEvidence_UntilClaimsAreOutdated) {
  Observed observed = After(Observed(), ClaimsFound{.claims = {api::ResourceClaim()}});
  observed = After(std::move(observed), NodeFound{.name = "a", .seen = NodeSeen::kReady});
  EXPECT_EQ(observed.evidence.claims->size(), 1U);
  EXPECT_EQ(observed.evidence.nodes.at("a"), NodeSeen::kReady);
  EXPECT_FALSE(After(std::move(observed), ClaimsOutdated()).evidence.claims);
}

TEST(Learn, NameIsKnown_UntilItIsForgotten) {
  const kube::ObjectKey key = {.ns = "driver", .name = "a"};
  const auto learn = [&](Observed observed, NameCheck::Is is) {
    return After(std::move(observed), NameFound{Kind::kDaemonSet, key, {is}});
  };
  Observed observed = learn(Observed(), NameCheck::Is::kTaken);
  EXPECT_EQ(observed.evidence.NameOf(Kind::kDaemonSet, key).is, NameCheck::Is::kTaken);
  observed = learn(std::move(observed), NameCheck::Is::kFree);
  EXPECT_EQ(observed.evidence.NameOf(Kind::kDaemonSet, key).is, NameCheck::Is::kFree);
  EXPECT_TRUE(learn(std::move(observed), NameCheck::Is::kNotAsked).evidence.names.empty());
}

TEST(Learn, SchedulerMessages_AreEvidence) {
  EXPECT_TRUE(After(Observed(), SchedulerMessagesRead()).evidence.scheduler_messages);
}

TEST(Learn, CountedGpus_AreNew) {
  const auto gpus = std::make_shared<const api::GpusByNode>();
  const GpuCount counted = After(Observed(), GpusCounted{.by_node = gpus}).facts.cluster.gpus;
  EXPECT_EQ(counted.by_node, gpus);
  EXPECT_FALSE(counted.is_old);
}

TEST(Learn, MissingPermission_IsKnownUntilItIsTriedAgain) {
  const base::Clock::TimePoint until{std::chrono::hours(1)};
  const Observed after =
      After(Observed(),
            PermissionMissing{.permission = {.verb = "delete", .resource = kube::kPods.plural},
                              .until = until});
  EXPECT_EQ(after.facts.cluster.MissingUntil("delete", kube::kPods), until);
}

TEST(Learn, StoredDomain_HasItsNewMeta_IfThereIsOne) {
  EXPECT_FALSE(After(Observed(), DomainStored{.meta = {.uid = "u"}}).domain);
  Observed before;
  before.domain.emplace();
  const Observed after = After(before, DomainStored{.meta = {.resource_version = "2"}});
  EXPECT_EQ(after.domain->meta.resource_version, "2");
}

TEST(Learn, StoredClique_ChangesOnlyTheOneWithItsUid) {
  Observed before;
  before.children.cliques = {CliqueOf("c", "1"), CliqueOf("d", "1")};
  const Observed after = After(before, CliqueStored{{.meta = {.uid = "d", .resource_version = "2"},
                                                     .daemons = {{.node = "a"}},
                                                     .joining = 3}});
  EXPECT_EQ(after.children.cliques[0].meta.resource_version, "1");
  EXPECT_EQ(after.children.cliques[1].meta.resource_version, "2");
  EXPECT_EQ(after.children.cliques[1].daemons.size(), 1U);
  EXPECT_EQ(after.children.cliques[1].joining, 3);
}

TEST(Learn, NodeWithoutItsLabel_IsNoLongerOfTheDomain) {
  Observed before;
  before.children.labelled_nodes = {NodeOf("a", "u"), NodeOf("b", "u")};
  before.nodes["a"] = NodeOf("a", "u");
  const Observed after = After(before, LabelGone{.node = "a"});
  EXPECT_EQ(after.children.labelled_nodes.size(), 1U);
  EXPECT_EQ(after.nodes.at("a").domain, "");
  EXPECT_EQ(After(before, LabelGone{.node = "c"}).children.labelled_nodes.size(), 2U);
}

TEST(Learn, ReplyShowsWhetherTheCrdPrunesStatus) {
  EXPECT_TRUE(After(Observed(), StatusPruned{true}).facts.cluster.status_is_pruned);
  EXPECT_FALSE(After(Observed(), StatusPruned{false}).facts.cluster.status_is_pruned);
}

}  // namespace
}  // namespace compute_domain

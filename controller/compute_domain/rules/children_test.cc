#include "controller/compute_domain/rules/children.h"

#include <gtest/gtest.h>

#include <functional>

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

// Of the release before claims were labelled, for this UID.
TEST(PlanChildren, C13_TemplateThatDoesNotLabelItsClaimsIsNotMadeAgain) {
  Observed observed = Converged();
  observed.children.templates[0].template_hash = "1a7ed94827314371";
  EXPECT_TRUE(PlanChildren(observed).empty());
}

TEST(PlanChildren, Q2_ChildrenAsTheyWereMadeAreLeftAlone) {
  EXPECT_TRUE(PlanChildren(Stamped()).empty());
}

TEST(PlanChildren, Q2_ChildrenWhoseHashesAreRememberedAreDecidedAboutAsIfTheyWereNot) {
  Observed as_made = Stamped();
  Observed edited = Stamped();
  edited.children.daemon_sets[0].meta.generation = 2;
  Observed outdated = Stamped();
  outdated.facts.settings.Edit().daemons.image = "another";
  Observed of_old = Stamped();
  of_old.children.templates[0].template_hash = "of an older release";
  for (Observed& observed : std::vector{as_made, edited, outdated, of_old}) {
    const std::vector<Action> without = PlanChildren(observed);
    observed.memory.rendered = HashChildren(observed);
    const std::vector<Action> with = PlanChildren(observed);
    ASSERT_EQ(with.size(), without.size());
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].index(), without[i].index());
    const auto stamps = [](const std::vector<Action>& actions) {
      std::vector<std::string> written;
      for (const auto& write : Actions<WritePodTemplate>(actions)) written.push_back(write.stamp);
      return written;
    };
    EXPECT_EQ(stamps(with), stamps(without));
  }
  as_made.memory.rendered = HashChildren(as_made);
  EXPECT_TRUE(PlanChildren(as_made).empty());
  as_made.memory.rendered.daemon_set = "of another image";
  EXPECT_TRUE(PlanChildren(as_made).empty()) << "a hash that is remembered only saves a rendering";
}

TEST(PlanChildren, F28_OtherVersionOfTheApiIsNoChangeOfATemplate) {
  Observed observed = Stamped();
  observed.facts.views.template_version = "v1beta1";
  EXPECT_TRUE(PlanChildren(observed).empty());
}

TEST(PlanChildren, P23_DomainOfTheHostsGetsATemplateForOneChannelAndNothingElse) {
  Observed observed = fixtures::OnHosts();
  EXPECT_TRUE(PlanChildren(observed).empty());
  observed.children.templates.clear();
  observed.domain->allocation_mode = "All";
  const auto actions = PlanChildren(observed);
  const auto creates = Actions<Create>(actions);
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_EQ(actions.size(), 1U);
  EXPECT_EQ(creates[0].key.name, fixtures::kTemplateName);
  const json::Value& config =
      creates[0].object["spec"]["spec"]["devices"]["config"].items()[0]["opaque"]["parameters"];
  EXPECT_EQ(config["allocationMode"].AsString(), "Single");
}

TEST(FindOfOtherMode, P23_DaemonsOfADomainThatLivesAreNamedWhereImexIsOnTheHosts) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(FindOfOtherMode(fixtures::OnHosts()), Names());
  Observed observed = Converged();
  EXPECT_EQ(FindOfOtherMode(observed), Names());
  observed.facts.settings.Edit().imex_on_hosts = true;
  EXPECT_EQ(FindOfOtherMode(observed),
            (Names{"DaemonSet cdom-system/" + fixtures::kDaemonName,
                   "ResourceClaimTemplate cdom-system/" + fixtures::kDaemonName}));
  observed.children.daemon_sets[0].domain = fixtures::kOtherUid;
  observed.children.templates.erase(observed.children.templates.begin());
  EXPECT_EQ(FindOfOtherMode(observed), Names()) << "another's";
  observed = Converged();
  observed.facts.settings.Edit().imex_on_hosts = true;
  observed.domain->meta.deleting = true;
  EXPECT_EQ(FindOfOtherMode(observed), Names()) << "it is taken down in either mode";
  observed.domain.reset();
  EXPECT_EQ(FindOfOtherMode(observed), Names()) << "and so are orphans";
}

TEST(FindOfOtherMode, P23_DomainThatWasOfTheHostsIsNamedWhereDaemonsAreMade) {
  using Names = std::vector<std::string>;
  Observed observed = Converged();
  fixtures::ConditionOf(observed.domain->status, "MembersReady").reason = "HostManaged";
  EXPECT_EQ(FindOfOtherMode(observed), Names{"ComputeDomain team-a/train"});
  observed.domain->status = {};
  EXPECT_EQ(FindOfOtherMode(observed), Names()) << "nobody has served it yet";
}

TEST(PlanChildren, ChildrenThatSomebodyElseMadeStayAsTheyAre) {
  EXPECT_TRUE(PlanChildren(Converged()).empty());
}

TEST(PlanChildren, B37_ChangedSettingReplacesThePodTemplateUnderItsHash) {
  Observed observed = Stamped();
  observed.children.daemon_sets[0].meta.resource_version = "77";
  observed.facts.settings.Edit().daemons.image = "registry.example/cdom:2";
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
    api::ResourceClaimTemplate& outdated = observed.children.templates[i];
    outdated.template_hash = "older";
    const auto actions = PlanChildren(observed);
    const auto deletions = Actions<Delete>(actions);
    ASSERT_EQ(deletions.size(), 1U);
    EXPECT_EQ(actions.size(), 1U);
    EXPECT_EQ(deletions[0].key, outdated.meta.key);
    EXPECT_EQ(deletions[0].uid, outdated.meta.uid);
  }
}

// Of the release before GPUs could be asked for, for this UID.
TEST(PlanChildren, F5_TemplateOfADomainThatAsksForNoGpusIsNotMadeAgain) {
  Observed observed = Converged();
  observed.children.templates[1].template_hash = "f23a814c0642bffc";
  EXPECT_TRUE(PlanChildren(observed).empty());
}

TEST(PlanChildren, F5_ChangedGpusReplaceTheWorkloadsTemplateAlone) {
  Observed observed = Stamped();
  const api::ResourceClaimTemplate& workload = observed.children.templates[1];
  observed.domain->gpus = "4";
  const auto actions = PlanChildren(observed);
  const auto deletions = Actions<Delete>(actions);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(actions.size(), 1U) << "no daemon is touched, and so no pod that runs";
  EXPECT_EQ(deletions[0].uid, workload.meta.uid);

  observed.children.templates.pop_back();
  const auto creations = Actions<Create>(PlanChildren(observed));
  ASSERT_EQ(creations.size(), 1U);
  const json::Value& requests = creations[0].object["spec"]["spec"]["devices"]["requests"];
  ASSERT_EQ(requests.items().size(), 2U);
  EXPECT_EQ(requests.items()[1]["exactly"]["count"].AsInt(), 4);
}

TEST(PlanChildren, F5_TemplateOfOthersIsReplacedOnlyWhereGpusAreAskedFor) {
  Observed observed = Converged();
  EXPECT_TRUE(PlanChildren(observed).empty());
  observed.domain->gpus = "All";
  const auto deletions = Actions<Delete>(PlanChildren(observed));
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].uid, observed.children.templates[1].meta.uid);
}

TEST(PlanChildren, F5_WhereTheAnnotationDoesNotReadTheTemplateStaysAndAMissingOneIsMadeWithout) {
  Observed observed = Stamped();
  observed.children.templates[1].template_hash = "with four";
  observed.domain->gpus = "four";
  EXPECT_TRUE(PlanChildren(observed).empty());
  observed.children.templates.pop_back();
  const auto creations = Actions<Create>(PlanChildren(observed));
  ASSERT_EQ(creations.size(), 1U);
  EXPECT_EQ(creations[0].object["spec"]["spec"]["devices"]["requests"].items().size(), 1U);
}

TEST(PlanChildren, R2_ChildThatWasThereIsMadeAgainOnlyOnceItsDomainIsReadAsAlive) {
  for (const ChildRole role :
       {ChildRole::kDaemonTemplate, ChildRole::kDaemonSet, ChildRole::kWorkloadTemplate}) {
    Observed observed = Converged();
    observed.children.templates.clear();
    observed.children.daemon_sets.clear();
    EXPECT_EQ(Actions<Create>(PlanChildren(observed)).size(), 3U) << "those that never were";
    EXPECT_TRUE(Actions<ReadOwner>(PlanChildren(observed)).empty());
    observed.memory.children_seen = {role};
    const auto reads = Actions<ReadOwner>(PlanChildren(observed));
    ASSERT_EQ(reads.size(), 1U);
    EXPECT_EQ(reads[0].key, observed.domain->meta.key);
    EXPECT_EQ(Actions<Create>(PlanChildren(observed)).size(), 2U);
    observed.evidence.owner.emplace();
    EXPECT_EQ(PlanChildren(observed).size(), 2U) << "it is gone";
    kube::ObjectMeta live = observed.domain->meta;
    observed.evidence.owner = live;
    EXPECT_EQ(Actions<Create>(PlanChildren(observed)).size(), 3U);
    live.deleting = true;
    observed.evidence.owner = live;
    EXPECT_EQ(PlanChildren(observed).size(), 2U) << "it is going";
  }
}

TEST(PlanChildren, R2_OfManyChildrenThatWereThereTheDomainIsReadOnce) {
  Observed observed = Converged();
  observed.memory.children_seen = FindRoles(observed);
  EXPECT_EQ(observed.memory.children_seen.size(), 3U);
  observed.children.templates.clear();
  observed.children.daemon_sets.clear();
  EXPECT_TRUE(FindRoles(observed).empty());
  EXPECT_EQ(PlanChildren(observed).size(), 1U);
  EXPECT_EQ(Actions<ReadOwner>(PlanChildren(observed)).size(), 1U);
}

TEST(PlanChildren, R2_WhatIsMadeHasOneOfTheThreeRolesOrNone) {
  Observed observed = Converged();
  observed.children.templates.clear();
  observed.children.daemon_sets.clear();
  std::set<ChildRole> roles;
  for (const Create& create : Actions<Create>(PlanChildren(observed))) {
    roles.insert(RoleOf(observed, create).value());
  }
  EXPECT_EQ(roles.size(), 3U);
  EXPECT_FALSE(RoleOf(observed, {.kind = Kind::kClique, .key = {"ns", "c"}}));
}

TEST(PlanChildren, B27_TemplateThatStaysCountsBeforeOneThatGoes) {
  for (const bool deleted_first : {false, true}) {
    Observed observed = Converged();
    auto& templates = observed.children.templates;
    api::ResourceClaimTemplate old = templates[0];
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
  observed.children.claims.clear();  // No job needs its daemons.
  observed.evidence.names[{Kind::kDaemonSet, set.key}] = {NameCheck::Is::kTaken};
  const auto reads = Actions<ReadTaken>(PlanChildren(observed));
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].key, set.key);
}

// Somebody deleted the DaemonSet; the reference's finalizer keeps it, as a live read shows.
Observed WithDeletedDaemonSet() {
  Observed observed = Converged();
  kube::ObjectMeta& set = observed.children.daemon_sets[0].meta;
  fixtures::Delete(set, {std::string(api::kFinalizer)});
  observed.evidence.names[{Kind::kDaemonSet, set.key}] =
      Found({.meta = set, .domain = fixtures::kUid});
  return observed;
}

TEST(PlanChildren, K4_DaemonSetIsLetGoOnlyWhenNoChannelIsAllocated) {
  Observed in_use = WithDeletedDaemonSet();
  EXPECT_TRUE(PlanChildren(in_use).empty());
  Observed idle = WithDeletedDaemonSet();
  std::vector<api::ResourceClaim> claims = std::exchange(idle.children.claims, {});
  EXPECT_EQ(Actions<ReadClaims>(PlanChildren(idle)).size(), 1U) << "a cache is no proof";
  EXPECT_TRUE(Actions<WriteFinalizers>(PlanChildren(idle)).empty());
  idle.evidence.claims = claims;
  EXPECT_TRUE(PlanChildren(idle).empty()) << "a claim was prepared meanwhile";
  claims.resize(2);
  claims[0].node.clear();
  claims[1].meta.key.ns = "team-b";
  idle.evidence.claims = claims;
  EXPECT_EQ(Actions<WriteFinalizers>(PlanChildren(idle)).size(), 1U) << "these hold nothing of it";
  idle.evidence.claims->clear();
  EXPECT_EQ(Actions<WriteFinalizers>(PlanChildren(idle)).size(), 1U);
  idle.facts.views.claims_are_read = false;
  EXPECT_TRUE(PlanChildren(idle).empty()) << "claims that are not read may be anywhere";
}

TEST(PlanChildren, K4_DaemonSetWithoutDaemonsOrOfADomainThatAllowsItIsLetGo) {
  Observed allowed = WithDeletedDaemonSet();
  allowed.domain->daemon_roll = "Always";
  EXPECT_EQ(Actions<WriteFinalizers>(PlanChildren(allowed)).size(), 1U);
  Observed empty = WithDeletedDaemonSet();
  for (api::DaemonPod& pod : empty.children.daemon_pods) pod.meta.owners.clear();
  EXPECT_EQ(Actions<WriteFinalizers>(PlanChildren(empty)).size(), 1U);
}

TEST(FindChildren, B39_NameThatSomebodyElseHoldsIsNoChild) {
  Observed observed = Converged();
  observed.children.daemon_sets.clear();
  NameCheck& name = observed.evidence.names[{Kind::kDaemonSet, fixtures::MakeDaemonSet().meta.key}];
  name = Found({.meta = fixtures::MakeDaemonSet().meta, .domain = fixtures::kUid});
  EXPECT_TRUE(FindChildren(observed).missing.empty()) << "ours, and the cache is behind";
  name.holder.domain = fixtures::kOtherUid;
  EXPECT_EQ(FindChildren(observed).missing.size(), 1U);
}

// ---- Labels and owners.

const std::pair<Kind, kube::ObjectKey> kDaemonSetName = {
    Kind::kDaemonSet, {fixtures::kDriverNs, fixtures::kDaemonName}};

// What a live read found under the name of a child that the cache does not show.
struct Unlabelled {
  const char* what;
  std::function<void(Observed&)> hide;
  std::pair<Kind, kube::ObjectKey> name;
  NameHolder found;
};

std::vector<Unlabelled> UnlabelledChildren() {
  const auto set = fixtures::MakeDaemonSet();
  const auto daemons = fixtures::MakeDaemonTemplate();
  const auto workload = fixtures::MakeWorkloadTemplate();
  return {
      {"DaemonSet",
       [](Observed& o) { o.children.daemon_sets.clear(); },
       kDaemonSetName,
       {.meta = set.meta, .template_hash = "x:1"}},
      {"daemon template",
       [](Observed& o) { o.children.templates.erase(o.children.templates.begin()); },
       {Kind::kClaimTemplate, daemons.meta.key},
       {.meta = daemons.meta, .template_hash = "x"}},
      {"workload template",
       [](Observed& o) { o.children.templates.pop_back(); },
       {Kind::kClaimTemplate, workload.meta.key},
       {.meta = workload.meta}},
      {"workload template without its target",
       [](Observed& o) { o.children.templates[1].target.clear(); },
       {Kind::kClaimTemplate, workload.meta.key},
       {.meta = workload.meta, .domain = fixtures::kUid}},
  };
}

TEST(PlanChildren, B37_LabelThatSomebodyTookOffAChildIsPutBack) {
  for (Unlabelled& row : UnlabelledChildren()) {
    SCOPED_TRACE(row.what);
    Observed observed = Converged();
    row.hide(observed);
    row.found.meta.resource_version = "77";
    observed.evidence.names[row.name] = Found(row.found);
    const auto actions = PlanChildren(observed);
    const auto writes = Actions<WriteIdentity>(actions);
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_EQ(actions.size(), 1U);
    EXPECT_EQ(writes[0].kind, row.name.first);
    EXPECT_EQ(writes[0].object.key, row.name.second);
    EXPECT_EQ(writes[0].object.resource_version, "77") << "of the live read";
    EXPECT_EQ(writes[0].labels["resource.nvidia.com/computeDomain"].AsString(), fixtures::kUid);
    EXPECT_TRUE(writes[0].owners.IsNull());
    EXPECT_FALSE(FindTakenName(observed));
  }
}

TEST(PlanChildren, N3_WhatHasNoLabelIsAChildOnlyIfWeMadeItOrTheDomainOwnsIt) {
  for (Unlabelled& row : UnlabelledChildren()) {
    const std::vector<std::function<void(NameHolder&)>> changes = {
        [](NameHolder& t) { t.template_hash.clear(), t.meta.owners.clear(); },
        [](NameHolder& t) { t.meta.owners = {fixtures::DomainAsOwner(fixtures::kOtherUid)}; },
        [](NameHolder& t) { t.domain = fixtures::kOtherUid; },
        [](NameHolder& t) { t.meta.key.ns = "team-b"; },
        [](NameHolder& t) { t.meta.deleting = true; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      SCOPED_TRACE(row.what + std::to_string(i));
      Observed observed = Converged();
      row.hide(observed);
      NameHolder found = row.found;
      changes[i](found);
      observed.evidence.names[row.name] = Found(found);
      EXPECT_TRUE(PlanChildren(observed).empty());
      EXPECT_TRUE(FindTakenName(observed));
    }
  }
}

TEST(PlanChildren, B37_LabelsOfACliqueAreKnownByItsNameAndPutBack) {
  Observed observed = Converged();
  api::Clique& clique = observed.children.cliques[0];
  clique.is_labelled = false;
  const auto writes = Actions<WriteIdentity>(PlanChildren(observed));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].kind, Kind::kClique);
  EXPECT_EQ(writes[0].object.uid, clique.meta.uid);
  EXPECT_EQ(writes[0].labels["resource.nvidia.com/computeDomain"].AsString(), fixtures::kUid);
  EXPECT_EQ(writes[0].labels["resource.nvidia.com/computeDomain.cliqueID"].AsString(), clique.id);
  clique.meta.deleting = true;
  EXPECT_TRUE(PlanChildren(observed).empty());
  clique.meta.deleting = false;
  clique.meta.key.ns = "team-b";
  EXPECT_TRUE(PlanChildren(observed).empty()) << "not where cliques are";
}

TEST(PlanChildren, R6_WorkloadTemplateOfTheReferenceGetsTheDomainAsOwner) {
  Observed observed = Converged();
  api::ResourceClaimTemplate& theirs = observed.children.templates[1];
  theirs.meta.owners.clear();
  const auto actions = PlanChildren(observed);
  const auto writes = Actions<WriteIdentity>(actions);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(actions.size(), 1U) << "its spec stays as it is";
  EXPECT_EQ(writes[0].object.uid, theirs.meta.uid);
  ASSERT_EQ(writes[0].owners.items().size(), 1U);
  EXPECT_EQ(writes[0].owners.items()[0]["uid"].AsString(), fixtures::kUid);
  theirs.meta.owners = {{.api_version = "v1", .kind = "ConfigMap", .name = "x", .uid = "y"}};
  EXPECT_TRUE(PlanChildren(observed).empty()) << "owners of others stay";
}

// ---- A second DaemonSet.

// An older release made it under a name of its own; ours is there, and all daemons are of ours.
Observed WithSecond() {
  Observed observed = Converged();
  api::DaemonSet second = fixtures::MakeDaemonSet();
  second.meta.key.name = "computedomain-daemon-x2b4";
  second.meta.uid = "second";
  observed.children.daemon_sets.insert(observed.children.daemon_sets.begin(), second);
  return observed;
}

// The same, read live.
Observed WithSecondRead() {
  Observed observed = WithSecond();
  observed.evidence.names[kDaemonSetName] =
      Found(NameHolder{.meta = fixtures::MakeDaemonSet().meta, .domain = fixtures::kUid});
  observed.evidence.daemon_pods = observed.children.daemon_pods;
  return observed;
}

TEST(PlanChildren, B28_SecondDaemonSetGoesOnceLiveReadsShowThatNobodyNeedsIt) {
  Observed observed = WithSecond();
  const auto first = PlanChildren(observed);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(Actions<ReadTaken>(first).size(), 1U);
  observed.evidence.names[kDaemonSetName] =
      Found(NameHolder{.meta = fixtures::MakeDaemonSet().meta, .domain = fixtures::kUid});
  const auto second = PlanChildren(observed);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(Actions<ReadDaemons>(second).size(), 1U);
  const auto last = PlanChildren(WithSecondRead());
  ASSERT_EQ(last.size(), 1U);
  const auto deletions = Actions<Delete>(last);
  ASSERT_EQ(deletions.size(), 1U);
  EXPECT_EQ(deletions[0].kind, Kind::kDaemonSet);
  EXPECT_EQ(deletions[0].uid, "second");
}

TEST(PlanChildren, B28_RefusedCreateIsNoLiveReadOfOurs) {
  Observed observed = WithSecondRead();
  observed.evidence.names[kDaemonSetName] = {NameCheck::Is::kTaken};
  EXPECT_EQ(Actions<ReadTaken>(PlanChildren(observed)).size(), 1U);
}

TEST(PlanChildren, B28_SecondDaemonSetStaysWhileItMayBeTheOneThatServes) {
  const auto of_second = [](api::DaemonPod& pod) { pod.meta.owners[0].uid = "second"; };
  const std::vector<std::pair<const char*, std::function<void(Observed&)>>> rows = {
      {"a daemon of it serves, as the cache shows",
       [&](Observed& o) { of_second(o.children.daemon_pods[0]); }},
      {"one serves, as the live read shows",
       [&](Observed& o) { of_second(o.evidence.daemon_pods->front()); }},
      {"one has begun to",
       [&](Observed& o) {
         of_second(o.evidence.daemon_pods->front());
         o.evidence.daemon_pods->front().ready = false;
       }},
      {"a clique would go with it",
       [](Observed& o) {
         o.children.cliques[0].meta.owners = {
             {.api_version = "apps/v1", .kind = "DaemonSet", .name = "x", .uid = "second"}};
       }},
      {"ours is not in the cache", [](Observed& o) { o.children.daemon_sets.resize(1); }},
      {"ours is being deleted",
       [](Observed& o) { fixtures::Delete(o.children.daemon_sets[1].meta, {}); }},
      {"ours is gone, as the live read shows",
       [](Observed& o) { o.evidence.names[kDaemonSetName] = {NameCheck::Is::kFree}; }},
      {"ours is being deleted, as the live read shows",
       [](Observed& o) { o.evidence.names[kDaemonSetName].holder.meta.deleting = true; }},
      {"it is of the same name, in the namespace of the reference",
       [](Observed& o) {
         o.children.daemon_sets[0].meta.key = {fixtures::kOldDriverNs, fixtures::kDaemonName};
       }},
      {"it is not the domain's", [](Observed& o) { o.children.daemon_sets[0].domain = "x"; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = WithSecondRead();
    change(observed);
    EXPECT_TRUE(Actions<Delete>(PlanChildren(observed)).empty());
  }
}

TEST(PlanChildren, B28_DaemonOfASecondDaemonSetThatHasNotBegunKeepsNothing) {
  Observed observed = WithSecondRead();
  api::DaemonPod pending = fixtures::MakePod("node-0", 0);
  pending.meta.owners[0].uid = "second";
  pending.ready = false;
  pending.clique.reset();
  api::DaemonPod ended = pending;
  ended.clique = "x";
  ended.terminal = true;
  api::DaemonPod copy = fixtures::MakePod("node-0", 0);
  copy.meta.owners.clear();
  observed.evidence.daemon_pods = {pending, ended, copy};
  EXPECT_EQ(Actions<Delete>(PlanChildren(observed)).size(), 1U);
}

TEST(PlanChildren, B28_FinalizerOfTheReferenceDoesNotKeepASecondDaemonSet) {
  Observed observed = WithSecond();
  api::DaemonSet& second = observed.children.daemon_sets[0];
  fixtures::Delete(second.meta, {std::string(api::kFinalizer)});
  EXPECT_EQ(Actions<ReadTaken>(PlanChildren(observed)).size(), 1U);
  observed.evidence.names[{Kind::kDaemonSet, second.meta.key}] =
      Found(NameHolder{.meta = second.meta, .domain = fixtures::kUid});
  const auto writes = Actions<WriteFinalizers>(PlanChildren(observed));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].object.uid, "second");
}

TEST(FindChildren, B36_FinalizerThatKeepsADeletedChildIsNamed) {
  Observed observed = Converged();
  fixtures::Delete(observed.children.daemon_sets[0].meta, {"example.com/theirs"});
  EXPECT_EQ(FindChildren(observed).terminating,
            (std::vector<std::string>{"DaemonSet cdom-system/" + fixtures::kDaemonName +
                                      " (finalizer example.com/theirs)"}));
}

}  // namespace
}  // namespace compute_domain

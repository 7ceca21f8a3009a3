#include "controller/compute_domain/cache/cache.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kDaemonName;
using fixtures::kDriverNs;
using fixtures::kOldDriverNs;
using fixtures::kOtherUid;
using fixtures::kUid;
using fixtures::PassWorld;
using fixtures::Store;
using Uids = std::set<std::string>;

// Who hears of it when the cache sees what the server has by now.
Uids ChangedBy(PassWorld& world) {
  world.changed.clear();
  world.server.ShowAll(world.cache);
  return world.changed;
}

TEST(Cache, DomainIsGatheredWithAllThatNamesIt) {
  PassWorld world(Converged());
  const Observed observed = world.cache.Read(kUid);
  ASSERT_TRUE(observed.domain);
  EXPECT_EQ(observed.domain->status, Converged().domain->status);
  EXPECT_EQ(observed.children.daemon_sets.size(), 1U);
  EXPECT_EQ(observed.children.templates.size(), 2U);
  EXPECT_EQ(observed.children.cliques.size(), 1U);
  EXPECT_EQ(observed.children.daemon_pods.size(), 2U);
  EXPECT_EQ(observed.children.claims.size(), 4U);
  EXPECT_EQ(observed.children.labelled_nodes.size(), 2U);
  EXPECT_EQ(observed.nodes.size(), 2U);
  EXPECT_FALSE(observed.evidence.owner);
  EXPECT_FALSE(observed.evidence.children);
}

TEST(Cache, UnknownDomainIsASnapshotToo) {
  PassWorld world(Converged());
  const Observed observed = world.cache.Read(kOtherUid);
  EXPECT_EQ(observed.uid, kOtherUid);
  EXPECT_FALSE(observed.domain);
  EXPECT_TRUE(observed.children.daemon_sets.empty());
}

TEST(Cache, B33_AllDriverNamespacesAreOneView) {
  Observed observed = Converged();
  observed.children.daemon_sets[0].meta.key.ns = kOldDriverNs;
  observed.children.cliques[0].meta.key.ns = kOldDriverNs;
  observed.children.daemon_pods[1].meta.key.ns = kOldDriverNs;
  const Observed gathered = PassWorld(observed).cache.Read(kUid);
  EXPECT_EQ(gathered.children.daemon_sets.size(), 1U);
  EXPECT_EQ(gathered.children.cliques.size(), 1U);
  EXPECT_EQ(gathered.children.daemon_pods.size(), 2U);
}

TEST(Cache, PodThatNoDaemonSetMadeIsNotGathered) {
  Observed observed = Converged();
  observed.children.daemon_pods[1].meta.owners.clear();
  EXPECT_EQ(PassWorld(observed).cache.Read(kUid).children.daemon_pods.size(), 1U);
}

TEST(Cache, NodesOfPodsMembersAndClaimsAreKnownWithoutALabel) {
  const std::vector<std::pair<const char*, std::function<void(Children&)>>> rows = {
      {"pod", [](Children& c) { c.daemon_pods = {fixtures::MakePod("node-0", 0)}; }},
      {"member",
       [](Children& c) {
         c.cliques = {fixtures::MakeClique()};
         c.cliques[0].daemons.pop_back();
       }},
      {"claim", [](Children& c) { c.claims = {fixtures::MakeChannelClaim("node-0", "train-0")}; }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = fixtures::Fresh();
    change(observed.children);
    PassWorld world(observed);
    EXPECT_EQ(world.cache.Read(kUid).nodes.size(), 1U);
    world.changed.clear();
    observed.nodes["node-0"].ready = false;
    world.server.Put(Store(observed.nodes["node-0"]));
    world.server.ShowOnly(Kind::kNode, world.cache);
    EXPECT_EQ(world.changed, (Uids{kUid})) << "it is told when the node is lost";
  }
}

TEST(Cache, NodesOfWhatLiveReadsFoundAreAddedAndNoneIsReplaced) {
  Observed observed = fixtures::Fresh();
  PassWorld world(observed);
  Observed gathered = world.cache.Read(kUid);
  EXPECT_TRUE(gathered.nodes.empty());
  gathered.nodes["node-1"].ready = false;
  gathered.evidence.children =
      Children{.daemon_pods = {fixtures::MakePod("node-0", 0), fixtures::MakePod("node-1", 1)},
               .claims = {fixtures::MakeChannelClaim("no-such-node", "x")}};
  world.cache.AddNodes(gathered);
  EXPECT_EQ(gathered.nodes.size(), 2U);
  EXPECT_TRUE(gathered.nodes["node-0"].ready);
  EXPECT_FALSE(gathered.nodes["node-1"].ready);
}

TEST(Cache, EveryChangeOfADomainsObjectsReachesIt) {
  PassWorld world(Converged());
  EXPECT_EQ(world.changed, (Uids{kUid}));
  for (const fixtures::Stored& stored : fixtures::StoreAll(Converged())) {
    const bool is_node = stored.kind == Kind::kNode;
    SCOPED_TRACE(ResourceOf(stored.kind).kind);
    world.server.Put(stored);
    EXPECT_EQ(ChangedBy(world), is_node ? Uids() : Uids{kUid}) << "a heartbeat concerns nobody";
    const kube::ObjectKey key = {stored.object["metadata"]["namespace"].AsString(),
                                 stored.object["metadata"]["name"].AsString()};
    world.server.Remove(stored.kind, key);
    EXPECT_EQ(ChangedBy(world), (Uids{kUid}));
  }
}

TEST(Cache, NodeThatChangesHandsConcernsBothDomains) {
  PassWorld world(Converged());
  world.server.Put(Store(fixtures::MakeNode("node-0", kOtherUid)));
  EXPECT_EQ(ChangedBy(world), (Uids{kUid, kOtherUid}));
}

TEST(Cache, B56_NodeThatGainsItsFirstSliceOrLosesItsLastConcernsWhoIsThere) {
  PassWorld world(Converged());
  EXPECT_EQ(world.cache.Read(kUid).without_slices, (Uids{"node-0", "node-1"}));
  world.server.PutSlice("node-1", "slice-1");
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
  EXPECT_EQ(world.cache.Read(kUid).without_slices, Uids{"node-0"});
  world.server.PutSlice("node-1", "slice-1");
  EXPECT_EQ(ChangedBy(world), Uids()) << "another generation of the pool";
  world.server.PutSlice("node-9", "slice-9");
  EXPECT_EQ(ChangedBy(world), Uids()) << "nobody is there";
  world.server.RemoveSlice("slice-1");
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
}

TEST(Cache, B49_FabricErrorOfANodeConcernsWhoIsThere) {
  PassWorld world(Converged());
  world.server.PutSlice("node-1", "slice-1");
  (void)ChangedBy(world);
  world.server.PutSlice("node-1", "slice-1", "gpu-0");
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
  const std::map<std::string, std::string> errors = {{"node-1", "gpu-0"}};
  EXPECT_EQ(world.cache.Read(kUid).fabric_errors, errors);
  world.server.PutSlice("node-1", "slice-1");
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
  EXPECT_TRUE(world.cache.Read(kUid).fabric_errors.empty());
}

TEST(Cache, B56_FirstSliceOfTheClusterAndItsLastConcernEveryDomain) {
  PassWorld world(Converged());
  EXPECT_TRUE(world.cache.Read(kUid).nobody_publishes);
  world.server.PutSlice("node-8", "slice-8");
  EXPECT_EQ(ChangedBy(world), Uids{kUid}) << "no pod of it is there, but one may wait";
  EXPECT_FALSE(world.cache.Read(kUid).nobody_publishes);
  world.server.PutSlice("node-9", "slice-9");
  world.server.RemoveSlice("slice-8");
  EXPECT_EQ(ChangedBy(world), Uids());
  world.server.RemoveSlice("slice-9");
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
  EXPECT_TRUE(world.cache.Read(kUid).nobody_publishes);
}

// ---- Reboots.

class Reboot : public testing::Test {
 protected:
  Reboot() : world_(Before()) {}

  static Observed Before() {
    Observed observed = Converged();
    observed.nodes["node-0"].boot_id = "boot-1";
    observed.children.daemon_pods[0].started = "2026-01-01T11:00:00Z";
    return observed;
  }
  void RebootNode() {
    api::Node node = Before().nodes["node-0"];
    node.boot_id = "boot-2";
    world_.server.Put(Store(node));
  }
  void ShowPod(bool ready, const std::string& started, const std::string& trouble = "") {
    api::DaemonPod pod = Before().children.daemon_pods[0];
    pod.ready = ready;
    pod.started = started;
    pod.trouble = trouble;
    world_.server.Put(Store(pod));
  }
  Uids Changed() { return ChangedBy(world_); }
  bool IsRebooted() const { return world_.cache.Read(kUid).rebooted.contains("node-0"); }
  bool PodLooksReady() const {
    for (const api::DaemonPod& pod : world_.cache.Read(kUid).children.daemon_pods) {
      if (pod.node == "node-0") return pod.ready;
    }
    return false;
  }

  PassWorld world_;
};

TEST_F(Reboot, B30_PodOfTheBootBeforeIsNotReadyWhateverItsStatusSays) {
  EXPECT_FALSE(IsRebooted());
  RebootNode();
  EXPECT_EQ(Changed(), Uids{kUid});
  EXPECT_TRUE(IsRebooted());
  EXPECT_FALSE(PodLooksReady());
  ShowPod(true, "2026-01-01T11:00:00Z");
  (void)Changed();
  EXPECT_TRUE(IsRebooted()) << "its kubelet has not looked yet";
}

TEST_F(Reboot, B30_ItIsOverWhenTheContainerHasStartedAnew) {
  RebootNode();
  (void)Changed();
  ShowPod(true, "2026-01-01T12:00:00Z");
  (void)Changed();
  EXPECT_FALSE(IsRebooted());
  EXPECT_TRUE(PodLooksReady());
}

TEST_F(Reboot, ItIsOverWhenThePodWasDownAndIsUp) {
  RebootNode();
  (void)Changed();
  ShowPod(false, "2026-01-01T11:00:00Z");
  (void)Changed();
  EXPECT_TRUE(IsRebooted());
  ShowPod(true, "2026-01-01T11:00:00Z");
  (void)Changed();
  EXPECT_FALSE(IsRebooted());
}

TEST_F(Reboot, B30_DaemonThatCrashesAfterItIsToldByItsOwnWords) {
  ShowPod(false, "", "CrashLoopBackOff: of the boot before");
  (void)Changed();
  RebootNode();
  (void)Changed();
  EXPECT_TRUE(IsRebooted()) << "its kubelet has not looked yet";
  ShowPod(false, "", "CrashLoopBackOff: no CDI device");
  (void)Changed();
  EXPECT_FALSE(IsRebooted());
  EXPECT_FALSE(PodLooksReady());
  ShowPod(false, "2026-01-01T12:00:00Z");
  (void)Changed();
  EXPECT_TRUE(IsRebooted()) << "it comes up";
}

TEST_F(Reboot, F7_PodThatItsKubeletWroteSinceIsOfTheNewBoot) {
  RebootNode();
  ShowPod(true, "2026-01-01T12:00:00Z");
  world_.server.ShowOnly(Kind::kDaemonPod, world_.cache);  // The nodes are behind.
  (void)Changed();
  EXPECT_FALSE(IsRebooted());
}

TEST_F(Reboot, ItIsOverWhenThePodIsGone) {
  RebootNode();
  (void)Changed();
  world_.server.Remove(Kind::kDaemonPod, Before().children.daemon_pods[0].meta.key);
  (void)Changed();
  EXPECT_FALSE(IsRebooted());
}

// ---- Neighbours.

TEST(Cache, B48_DomainsWithMembersInOneCliqueKnowOfEachOther) {
  PassWorld world(Converged());
  api::ComputeDomain other = fixtures::MakeDomain();
  other.meta.key.name = "other";
  other.meta.uid = kOtherUid;
  world.server.Put(Store(other));
  api::Clique clique = fixtures::MakeClique();
  clique.meta.key.name = api::CliqueName(kOtherUid, clique.id);
  clique.meta.uid = "other-clique";
  clique.domain = kOtherUid;
  world.server.Put(Store(clique));
  EXPECT_EQ(ChangedBy(world), (Uids{kUid, kOtherUid})) << "both hear of it";
  const auto shared = world.cache.Read(kUid).others.in_clique;
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared.at(clique.id), Uids{"team-a/other"});
  EXPECT_EQ(world.cache.Read(kOtherUid).others.in_clique.at(clique.id), Uids{"team-a/train"});

  clique.daemons.clear();
  world.server.Put(Store(clique));
  EXPECT_EQ(ChangedBy(world), (Uids{kUid, kOtherUid}));
  EXPECT_TRUE(world.cache.Read(kUid).others.in_clique.empty());
}

TEST(Cache, NodeOfNobodyConcernsNobody) {
  PassWorld world(Converged());
  world.server.Put(Store(fixtures::MakeNode("node-9", "")));
  EXPECT_EQ(ChangedBy(world), Uids());
}

std::vector<std::string> VisitedIn(const Cache& cache) {
  std::vector<std::string> uids;
  cache.VisitVersions([&](const kube::ObjectMeta& domain) {
    EXPECT_EQ(cache.Domain(domain.key)->meta.resource_version, domain.resource_version);
    uids.push_back(domain.uid);
  });
  return uids;
}

TEST(Cache, DomainsAreThoseThatExistOrLeftSomething) {
  Observed observed = Converged();
  EXPECT_EQ(PassWorld(observed).cache.DomainUids(), (std::vector<std::string>{kUid}));
  EXPECT_EQ(VisitedIn(PassWorld(observed).cache), (std::vector<std::string>{kUid}));
  observed.domain.reset();
  EXPECT_EQ(PassWorld(observed).cache.DomainUids(), (std::vector<std::string>{kUid}));
  observed.children = {.claims = observed.children.claims};
  for (auto& [name, node] : observed.nodes) node.domain = kOtherUid;
  EXPECT_EQ(PassWorld(observed).cache.DomainUids(), (std::vector<std::string>{kOtherUid}));
}

// ---- What a user may write.

TEST(Cache, ClaimThatNamesTheDomainTwiceIsOneClaim) {
  Observed observed = Converged();
  api::ResourceClaim& claim = observed.children.claims[0];
  claim.daemon_domain = claim.channel_domain;
  PassWorld world(observed);
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 4U);
  world.server.Put(Store(claim));
  world.server.ShowAll(world.cache);
  world.server.Remove(Kind::kClaim, claim.meta.key);
  world.server.ShowAll(world.cache);
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 3U);
}

TEST(Cache, CliqueThatNamesANodeTwiceIsOneClique) {
  Observed observed = Converged();
  api::Clique& clique = observed.children.cliques[0];
  clique.daemons.push_back(clique.daemons[0]);
  PassWorld world(observed);
  world.server.Remove(Kind::kClique, clique.meta.key);
  world.server.ShowAll(world.cache);
  EXPECT_TRUE(world.cache.Read(kUid).children.cliques.empty());
}

TEST(Cache, DomainIdOfAClaimIsNotTakenForSomethingElse) {
  PassWorld world(Converged());
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-0", "mallory");
  claim.channel_domain = claim.daemon_domain = "node:node-0";
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids()) << "or what is on the node would be taken for a domain's";
}

TEST(Cache, REV3_X11_ClaimsOfOtherNamespacesThanTheDomainsConcernItNot) {
  PassWorld world(Converged());
  api::ResourceClaim claim = fixtures::MakeWaitingClaim("mallory");
  claim.meta.key.ns = "team-b";
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids());
  claim.daemon_domain = kUid;
  claim.node = "node-0";
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids());
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 4U);
  claim.meta.key.ns = kDriverNs;
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids{kUid}) << "daemons have theirs there";
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 5U);
}

TEST(Cache, REV3_X1_OfClaimsOfOtherNamespacesThoseThatHoldAChannelAreGathered) {
  PassWorld world(Converged());
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-0", "mallory");
  claim.meta.key.ns = "team-b";
  claim.has_channel = true;
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids());
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 5U) << "pods that wait are told";
  claim.consumers.clear();
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids());
  EXPECT_EQ(world.cache.Read(kUid).children.claims.size(), 4U);
}

TEST(Cache, C14_ClaimOfAnotherDriverIsNotKept) {
  PassWorld world(Converged());
  EXPECT_EQ(world.cache.claims(), 4U);
  // It says of its own driver what channels say of ours, and has a device of one of our nodes.
  auto claim = json::Parse(R"({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "gpu", "namespace": "team-a", "uid": "uid-of-gpu"},
    "spec": {"devices": {
      "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}],
      "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {
        "apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig",
        "domainID": ""}}}]}},
    "status": {
      "allocation": {"devices": {
        "results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "node-0",
                     "device": "channel-0"}],
        "config": [{"source": "FromClaim", "opaque": {"driver": "gpu.example.com", "parameters": {
          "apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig",
          "domainID": ""}}}]}},
      "reservedFor": [{"resource": "pods", "name": "train-0", "uid": "uid-of-train-0"}]}})");
  ASSERT_TRUE(claim);
  for (json::Value* part : {&(*claim)["spec"], &(*claim)["status"]["allocation"]}) {
    json::Value& config = (*part)["devices"]["config"].MutableItems()[0];
    config["opaque"]["parameters"]["domainID"] = kUid;
  }
  world.server.Put({.kind = Kind::kClaim, .object = *claim});
  EXPECT_EQ(ChangedBy(world), Uids());
  EXPECT_EQ(world.cache.claims(), 4U);
}

TEST(Cache, C14_ClaimThatLetsItsDomainGoConcernsItOnceMoreAndIsNotKept) {
  Observed observed = Converged();
  PassWorld world(observed);
  api::ResourceClaim& claim = observed.children.claims[0];
  claim.channel_domain.clear();
  claim.daemon_domain.clear();
  claim.has_channel = false;
  world.server.Put(Store(claim));
  EXPECT_EQ(ChangedBy(world), Uids{kUid});
  EXPECT_EQ(world.cache.claims(), 3U);
}

// ---- Its own writes.

TEST(Cache, ItHasCaughtUpOnceTheStoreIsAsNewAsTheWrite) {
  PassWorld world(Converged());
  const std::string before = "1";
  const std::string after = "999999999";
  for (const auto& [kind, ns] :
       {std::pair{Kind::kComputeDomain, std::string("team-a")},
        std::pair{Kind::kNode, std::string()}, std::pair{Kind::kClaimTemplate, kDriverNs},
        std::pair{Kind::kClaim, kDriverNs}, std::pair{Kind::kDaemonSet, kDriverNs},
        std::pair{Kind::kClique, kOldDriverNs}, std::pair{Kind::kDaemonPod, kDriverNs}}) {
    SCOPED_TRACE(ResourceOf(kind).kind);
    Expectation expected = {.kind = kind, .key = {ns, "x"}, .resource_version = before};
    EXPECT_TRUE(world.cache.HasCaughtUp(expected));
    expected.resource_version = after;
    EXPECT_FALSE(world.cache.HasCaughtUp(expected));
  }
  EXPECT_TRUE(world.cache.HasCaughtUp(
      {.kind = Kind::kDaemonSet, .key = {"elsewhere", "x"}, .resource_version = after}))
      << "nobody watches there";
}

TEST(Cache, ItHasCaughtUpOnceTheIncarnationIsGoneOrGoing) {
  const Expectation expected = {
      .kind = Kind::kDaemonSet, .key = {kDriverNs, kDaemonName}, .gone = "daemon-set"};
  Observed observed = Converged();
  EXPECT_FALSE(PassWorld(observed).cache.HasCaughtUp(expected));
  fixtures::Delete(observed.children.daemon_sets[0].meta, {"example.com/theirs"});
  EXPECT_TRUE(PassWorld(observed).cache.HasCaughtUp(expected));
  observed = Converged();
  observed.children.daemon_sets[0].meta.uid = "daemon-set-2";
  EXPECT_TRUE(PassWorld(observed).cache.HasCaughtUp(expected));
  observed.children.daemon_sets.clear();
  EXPECT_TRUE(PassWorld(observed).cache.HasCaughtUp(expected));
}

TEST(Cache, B29_ClaimsThatHoldAChannelForNoDomainOrNoPodAreFound) {
  PassWorld world(Converged());
  const auto put = [&](const std::string& name,
                       const std::function<void(api::ResourceClaim&)>& change) {
    api::ResourceClaim claim = fixtures::MakeChannelClaim("node-7", name);
    claim.channel_domain = kOtherUid;
    change(claim);
    world.server.Put(Store(claim));
  };
  put("normal", [](api::ResourceClaim&) {});
  put("of-none", [](api::ResourceClaim& c) { c.channel_domain.clear(); });
  put("unused", [](api::ResourceClaim& c) { c.consumers.clear(); });
  put("daemons", [](api::ResourceClaim& c) { c.channel_domain.clear(), c.has_channel = false; });
  world.server.ShowAll(world.cache);
  std::vector<std::string> unrelated;
  for (const api::ResourceClaim& claim : world.cache.UnrelatedClaims())
    unrelated.push_back(claim.meta.key.name);
  EXPECT_EQ(unrelated, (std::vector<std::string>{"of-none-channel", "unused-channel"}));
}

TEST(Cache, G21_EveryNodeThatMayBePartOfADomainIsVisitedWithWhatBecameOfIt) {
  PassWorld world(Converged());
  const auto put = [&](const char* name, const char* clique, const std::string& domain) {
    api::Node node = fixtures::MakeNode(name, domain);
    node.clique = clique;
    world.server.Put(Store(node));
  };
  put("node-0", "a.0", kUid);
  put("node-1", "a.0", "");  // Its label went, and its channel is still allocated.
  put("node-2", "b.0", "");
  put("node-3", "b.0", "");
  put("node-4", "", "");
  put("node-5", "", "");
  world.server.PutSlice("node-3", "slice-3");
  world.server.PutSlice("node-5", "slice-5");
  api::ResourceClaim administrators = fixtures::MakeChannelClaim("node-3", "monitor");
  administrators.admin_access = true;
  world.server.Put(Store(administrators));
  world.server.ShowAll(world.cache);
  Facts facts = fixtures::MakeFacts();
  facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  std::map<std::string, std::string> seen;
  world.cache.VisitNodes(
      world.cache.Placements(), [&](const api::Node& node, const NodeContext& context) {
        const auto availability = AvailabilityOf(node, context, facts);
        if (availability)
          seen[node.clique + "/" + node.meta.key.name] = ToString(availability->state);
      });
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"a.0/node-0", "held"},
                                                      {"a.0/node-1", "held"},
                                                      {"b.0/node-2", "unusable"},
                                                      {"b.0/node-3", "free"},
                                                      {"/node-5", "free"}}));
  EXPECT_EQ(world.cache.NameOf(kUid), "team-a/train");
  EXPECT_EQ(world.cache.NameOf("gone"), "gone");
}

TEST(Cache, G26_NodesOfACliqueThatADomainKeepsToItselfSayForWhom) {
  Observed observed = Converged();
  observed.domain->placement = std::string(api::kPlacementExclusive);
  PassWorld world(observed);
  const auto put = [&](const char* name, const char* clique, const kube::Uid& uid) {
    api::Node node = fixtures::MakeNode(name, uid);
    node.clique = clique;
    world.server.Put(Store(node));
  };
  put("node-0", "a.0", kUid);
  put("node-1", "a.0", "");
  put("node-2", "b.0", "");
  world.server.ShowAll(world.cache);
  const auto reserved = [&] {
    std::map<std::string, std::string> found;
    world.cache.VisitNodes(world.cache.Placements(),
                           [&](const api::Node& node, const NodeContext& context) {
                             if (!context.reserved_for.empty())
                               found[node.meta.key.name] = context.reserved_for;
                           });
    return found;
  };
  EXPECT_EQ(reserved(), (std::map<std::string, std::string>{{"node-0", "team-a/train"},
                                                            {"node-1", "team-a/train"}}));
  const CliquePlacement exclusive = {.domain_uids = {kUid}, .exclusive = kUid};
  EXPECT_EQ(world.cache.Placements(), (std::map<std::string, CliquePlacement>{{"a.0", exclusive}}));
  observed.domain->placement = std::string(api::kPlacementClique);
  world.server.Put(Store(*observed.domain));
  world.server.ShowAll(world.cache);
  EXPECT_EQ(reserved().size(), 0U) << "others may come into a clique that is only asked for";
  EXPECT_EQ(world.cache.Placements().at("a.0"), (CliquePlacement{.domain_uids = {kUid}}));
}

TEST(Cache, G23_ClaimIsReportedOnceWhenItsNodeIsFound) {
  Observed observed = Converged();
  observed.children.claims = {fixtures::MakeWaitingClaim("train-2")};
  PassWorld world(observed);
  std::vector<std::string> allocated;
  world.cache.OnAllocated([&](const api::ResourceClaim& before) {
    allocated.push_back(before.meta.key.name + " of " + before.meta.creation_timestamp);
  });
  EXPECT_EQ(world.cache.WaitingClaims(kUid).size(), 1U);
  api::ResourceClaim claim = observed.children.claims[0];
  world.server.Put(Store(claim));
  world.server.ShowAll(world.cache);
  EXPECT_EQ(allocated.size(), 0U) << "it goes on waiting";
  claim.node = "node-1";
  world.server.Put(Store(claim));
  world.server.ShowAll(world.cache);
  claim.consumers = {"pods/train-2"};
  world.server.Put(Store(claim));
  world.server.ShowAll(world.cache);
  EXPECT_EQ(allocated, (std::vector<std::string>{"train-2-channel of 2026-01-01T11:00:00Z"}));
  EXPECT_TRUE(world.cache.WaitingClaims(kUid).empty());
}

TEST(Cache, S21_ClaimThatLostItsNodeIsOfNoPodThatWaits) {
  Observed observed = Converged();
  api::ResourceClaim claim = fixtures::MakeWaitingClaim("train-2");
  claim.node = "node-1";
  observed.children.claims = {claim};
  PassWorld world(observed);
  const auto seen = [&] {
    EXPECT_EQ(world.cache.WaitingClaims(kUid).size(),
              std::ranges::count(world.cache.Read(kUid).children.claims, std::string(),
                                 &api::ResourceClaim::node));
    return world.cache.Read(kUid).children.claims.size();
  };
  const auto show = [&](const std::string& node, const kube::Uid& uid) {
    claim.node = node;
    claim.meta.uid = uid;
    world.server.Put(Store(claim));
    world.server.ShowAll(world.cache);
  };
  EXPECT_EQ(seen(), 1U);
  show("", claim.meta.uid);
  EXPECT_EQ(seen(), 0U) << "its pod has ended";
  show("node-1", claim.meta.uid);
  EXPECT_EQ(seen(), 1U);
  show("", claim.meta.uid);
  world.server.Remove(Kind::kClaim, claim.meta.key);
  world.server.ShowAll(world.cache);
  show("", "another");
  EXPECT_EQ(seen(), 0U) << "Kubernetes makes a claim again for an ended pod that changes";
  claim.meta.owners[0].uid = "pod-of-the-same-name";
  show("", "a third");
  EXPECT_EQ(seen(), 1U) << "of a pod that waits";
}

}  // namespace
}  // namespace compute_domain

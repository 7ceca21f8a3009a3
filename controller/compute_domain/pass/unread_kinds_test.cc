// Kinds that cannot be read: what needs them waits, and what does not goes on.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::JustDeleted;
using fixtures::kCliqueId;
using fixtures::kDriverNs;
using fixtures::kUid;
using fixtures::Marked;
using fixtures::PassWorld;
using std::chrono::seconds;

const kube::ObjectKey kCliqueKey = {.ns = kDriverNs, .name = std::string(kUid) + "." + kCliqueId};
constexpr std::array kKinds = {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate,
                               Kind::kClique,        Kind::kDaemonPod, Kind::kClaim,
                               Kind::kNode};

// Shows the cache all kinds but one, which was never read.
void ShowBut(Kind unread, PassWorld& world) {
  for (const Kind kind : kKinds) {
    if (kind != unread) world.server.ShowOnly(kind, world.cache);
  }
}

// Runs a pass each ten seconds.
void RunFor(seconds time, Kind unread, PassWorld& world) {
  for (seconds ran(0); ran < time; ran += seconds(10)) {
    ShowBut(unread, world);
    const Outcome outcome = world.Run();
    if (!outcome.error) world.clock.Advance(seconds(10));
  }
}

std::string StatusOf(const PassWorld& world) {
  return world.Domain()["status"]["status"].AsString();
}
std::size_t CountMembers(const PassWorld& world) {
  return world.server.Get(Kind::kClique, kCliqueKey)["daemons"].items().size();
}

// A pod of the job comes to node-2, and its daemon.
void JoinNode2(PassWorld& world) {
  api::DaemonPod pod = fixtures::MakePod("node-2", 2);
  pod.controller_writes = true;
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-2")));
  world.server.Put(fixtures::Store(pod));
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "train-2")));
}

TEST(UnreadKinds, REV4_K8_CliquesThatOnlyLiveReadsShow_AreWritten) {
  Observed observed = Marked();
  observed.facts.views.freshness[Kind::kClique] = Freshness::kUnknown;
  PassWorld world(observed, false);
  JoinNode2(world);
  RunFor(seconds(60), Kind::kClique, world);
  EXPECT_EQ(CountMembers(world), 3U);
  EXPECT_EQ(StatusOf(world), "Ready");
}

TEST(UnreadKinds, REV4_K8_UnknownClique_IsNotCreatedAgain) {
  Observed observed = Marked();
  observed.facts.views.freshness[Kind::kClique] = Freshness::kUnknown;
  PassWorld world(observed, false);
  JoinNode2(world);
  world.server.Refuse("GET /apis/resource.nvidia.com/v1beta1/namespaces/cdom-system/", 500,
                      "InternalError");
  for (int i = 0; i < 10; ++i) {
    ShowBut(Kind::kClique, world);
    (void)world.Run();
    EXPECT_EQ(world.Position("POST /apis/resource.nvidia.com"), -1) << "it may exist";
    world.clock.Advance(seconds(10));
  }
  EXPECT_EQ(CountMembers(world), 2U);
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 2U) << "no member is taken away";
}

TEST(UnreadKinds, REV4_K8_UnknownDaemonSets_HideNoDaemon) {
  for (const bool is_ours : {true, false}) {
    Observed observed = is_ours ? Marked() : Converged();
    observed.facts.views.freshness[Kind::kDaemonSet] = Freshness::kUnknown;
    PassWorld world(observed, false);
    RunFor(seconds(30), Kind::kDaemonSet, world);
    EXPECT_EQ(StatusOf(world), "Ready");
    api::DaemonPod pod = observed.children.daemon_pods[0];
    pod.ready = false;
    world.server.Put(fixtures::Store(pod));
    RunFor(seconds(30), Kind::kDaemonSet, world);
    EXPECT_EQ(StatusOf(world), "NotReady") << "its daemon is down";
    if (!is_ours) continue;
    JoinNode2(world);
    RunFor(seconds(30), Kind::kDaemonSet, world);
    EXPECT_EQ(CountMembers(world), 3U) << "its clique is known";
    world.server.Remove(Kind::kClique, kCliqueKey);
    RunFor(seconds(30), Kind::kDaemonSet, world);
    EXPECT_EQ(world.server.Count(Kind::kClique), 0U) << "nobody would own it";
  }
}

TEST(UnreadKinds, REV4_K8_UnknownPods_TakeNobodysReadiness) {
  PassWorld world(Marked(), false);
  world.server.Refuse("/namespaces/cdom-system/pods", 500, "InternalError");
  RunFor(seconds(120), Kind::kDaemonPod, world);
  EXPECT_EQ(StatusOf(world), "Ready");
  EXPECT_EQ(CountMembers(world), 2U);
}

TEST(UnreadKinds, REV4_K8_UnknownNodes_StopTheRollout) {
  Observed observed = Marked();
  observed.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
  observed.facts.settings.Edit().rollout.policy = RolloutPolicy::kAlways;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
  api::DaemonSet& set = observed.children.daemon_sets[0];
  PassWorld probe(observed);
  (void)probe.Run();
  set.template_hash = probe.shared.Gather(kUid).memory.rendered.daemon_set;
  set.template_generation = set.meta.generation;
  PassWorld world(observed, false);
  RunFor(seconds(60), Kind::kNode, world);
  EXPECT_EQ(world.server.Count(Kind::kDaemonPod), 2U);
}

// The deletion of an idle domain, whose live reads of a kind fail.
TEST(UnreadKinds, REV4_K8_DeletionWaitsForAKindThatCannotBeRead_AndSaysSo) {
  Observed observed = JustDeleted();
  observed.children.claims.clear();
  observed.facts.views.problems[Kind::kDaemonPod] = "500 InternalError";
  PassWorld world(observed, false);
  world.server.Refuse("/pods", 500, "InternalError");
  for (int i = 0; i < 20; ++i) {
    ShowBut(Kind::kDaemonPod, world);
    (void)world.Run();
    world.clock.Advance(seconds(30));
  }
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U) << "nothing is proven";
  const json::Value blocked = world.Condition("DeletionBlocked");
  EXPECT_EQ(blocked["status"].AsString(), "True");
  EXPECT_NE(blocked["message"].AsString().find("500 InternalError"), std::string::npos)
      << blocked["message"].AsString();
}

// The watch of pods lives, and each LIST of them fails.
TEST(UnreadKinds, REV4_K8_DeletionSaysWhichLiveReadFails) {
  Observed observed = JustDeleted();
  observed.children.claims.clear();
  observed.children.daemon_pods.clear();
  PassWorld world(observed);
  world.server.Refuse("/pods", 500, "InternalError");
  const auto run_for = [&](seconds time) {
    for (seconds passed{0}; passed < time; passed += seconds(1)) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      world.clock.Advance(seconds(1));
    }
    return world.Condition("DeletionBlocked")["message"].AsString();
  };
  EXPECT_EQ(run_for(seconds(3)).find("500"), std::string::npos) << "it may pass";
  EXPECT_NE(run_for(seconds(60)).find("list what the domain left: 500 InternalError"),
            std::string::npos)
      << world.Conditions();
}

// The CRD of cliques is deleted, and the cache still shows those from before.
TEST(UnreadKinds, REV4_K8_DeletionDoesNotWaitForAKindThatIsNotServed) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.children.daemon_pods.clear();
  observed.facts.views.cliques_are_served = false;
  PassWorld world(observed);
  world.server.SetServed(api::kComputeDomainCliques.plural, false);
  for (int i = 0; i < 20; ++i) {
    ShowBut(Kind::kClique, world);
    (void)world.Run();
    world.clock.Advance(seconds(30));
    for (const api::ResourceClaim& claim : observed.children.claims) {
      world.server.Remove(Kind::kClaim, claim.meta.key);
    }
  }
  EXPECT_TRUE(world.Domain().IsNull()) << json::Serialize(world.Domain());
}

TEST(UnreadKinds, REV4_K8_MemberLeaves_WhereCliquesAreNotServed) {
  Observed observed = Converged();
  observed.children.cliques.clear();
  observed.facts.views.cliques_are_served = false;
  PassWorld world(observed);
  world.server.SetServed(api::kComputeDomainCliques.plural, false);
  RunFor(seconds(30), Kind::kClique, world);
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 2U);
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.Remove(Kind::kClaim, observed.children.claims[1].meta.key);
  int reads_of_pods = 0;
  for (int passes = 0; passes < 6; ++passes) {
    RunFor(seconds(10), Kind::kClique, world);
    reads_of_pods += world.Position("/pods?") == -1 ? 0 : 1;
    EXPECT_EQ(world.Position("/computedomaincliques"), -1) << "there are none";
  }
  EXPECT_GT(reads_of_pods, 0);
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 1U) << "a live read shows no pod";
}

// NVIDIA's CRD keeps no conditions. A daemon was down for a moment when status was written.
TEST(UnreadKinds, REV4_K9_DomainWhoseDaemonsServe_IsReadyWhateverCannotBeRead) {
  for (const char* reason : {"ChildrenNotRead", "PermissionMissing"}) {
    SCOPED_TRACE(reason);
    Observed observed = Converged();
    observed.domain->status = {.status = "NotReady", .nodes = observed.domain->status.nodes};
    observed.facts.views.problem_reason = reason;
    observed.facts.views.problem = "refused";
    PassWorld once(observed);
    RunFor(seconds(30), Kind::kDaemonSet, once);
    EXPECT_EQ(StatusOf(once), "Ready") << "DaemonSets were read once";
    for (const Kind unread : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
      Freshness& freshness = observed.facts.views.freshness[unread];
      freshness = Freshness::kUnknown;
      PassWorld never(observed, false);
      RunFor(seconds(30), unread, never);
      EXPECT_EQ(StatusOf(never), "Ready") << never.Ready();
      freshness = Freshness::kFresh;
    }
  }
}

TEST(UnreadKinds, REV4_K10_NewNodeWaitsForClaims_AndThatIsTold) {
  Observed observed = Marked();
  observed.facts.views.freshness[Kind::kClaim] = Freshness::kStale;
  observed.facts.views.claims_are_current = false;
  observed.facts.views.problems[Kind::kClaim] = "500 InternalError";
  PassWorld world(observed);
  JoinNode2(world);
  RunFor(seconds(600), Kind::kClaim, world);
  EXPECT_EQ(CountMembers(world), 2U) << "only claims show that a pod of the domain is there";
  EXPECT_EQ(StatusOf(world), "Ready");
  const json::Value members = world.Condition("MembersReady");
  EXPECT_EQ(members["reason"].AsString(), "ClaimsNotRead");
  EXPECT_NE(members["message"].AsString().find("Claims cannot be read, so no new node joins: 500"),
            std::string::npos);
  EXPECT_EQ(world.Condition("InUse")["status"].AsString(), "Unknown");
  EXPECT_EQ(world.Condition("InUse")["reason"].AsString(), "ClaimsNotRead");
}

}  // namespace
}  // namespace compute_domain

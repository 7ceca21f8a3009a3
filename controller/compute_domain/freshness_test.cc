// What is missing from a view that is not current is unknown, and unknown changes nothing. And what
// is no word of the API server proves nothing.
#include <gtest/gtest.h>

#include "test/fixtures/controller_world.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::JustDeleted;
using fixtures::kUid;
using fixtures::MapServer;
using fixtures::PassWorld;
using World = fixtures::ControllerWorld;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kDeleteDaemonSet = "DELETE /apis/apps/v1/namespaces/cdom-system/daemonsets";

// The watch breaks, and every renewal is answered so, for an hour.
void Break(const kube::Resource& resource, int status, const std::string& reason, World& world) {
  world.Turn();
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    if (reflector.options().resource == resource) {
      reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
    }
  }
  world.refused = "/" + resource.plural;
  world.server.Refuse(world.refused, status, reason);
  for (int i = 0; i < 60; ++i) world.TurnLater();
  world.server.Intercept({});
}

// A third node joins the cluster, and the domain, while nodes cannot be read.
TEST(Freshness, REV3_F3_NodeThatAnOldViewLacksIsNotLost) {
  Observed observed = Converged();
  World world(observed);
  Break(kube::kNodes, 503, "ServiceUnavailable", world);
  observed.children.daemon_pods.push_back(fixtures::MakePod("node-2", 2));
  observed.children.cliques[0].daemons.push_back(fixtures::MakeMember("node-2", 2));
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-2", "train-2"));
  world.server.Put(fixtures::Store(observed.children.daemon_pods[2]));
  world.server.Put(fixtures::Store(observed.children.cliques[0]));
  world.server.Put(fixtures::Store(observed.children.claims.back()));
  for (const Kind kind : {Kind::kDaemonPod, Kind::kClique, Kind::kClaim}) {
    world.server.ShowOnly(kind, world.controller.cache());
  }
  const Views views = world.controller.shared().Gather(kUid).facts.views;
  EXPECT_EQ(views.Of(Kind::kNode), Freshness::kStale);
  EXPECT_TRUE(views.problems.contains(Kind::kNode)) << "it is told";
  (void)world.Run();
  EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
  EXPECT_EQ(world.Status()["nodes"].items().size(), 3U);
}

TEST(Freshness, REV3_F3_ViewOfNodesIsStaleAfterAMinuteWhateverTheAnswer) {
  for (const int status : {403, 429, 500, 503}) {
    World world(Converged());
    Break(kube::kNodes, status, "Any", world);
    EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.Of(Kind::kNode), Freshness::kStale)
        << status;
  }
}

TEST(Freshness, REV3_F3_DaemonsThatCannotBeReadForAMinuteAreToldAndChangeNothing) {
  for (const Kind kind : {Kind::kDaemonPod, Kind::kClique}) {
    World world(Converged());
    Break(ResourceOf(kind), 503, "ServiceUnavailable", world);
    const Views views = world.controller.shared().Gather(kUid).facts.views;
    EXPECT_NE(views.ProblemOf(kind).find("503"), std::string::npos) << views.ProblemOf(kind);
    EXPECT_TRUE(views.problem_reason.empty());
    (void)world.Run();
    EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
    EXPECT_EQ(world.ReadyReason(), "DaemonsNotRead");
    for (int i = 0; i < 5; ++i) world.TurnLater();
    EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.ProblemOf(kind), "")
        << "they are read again";
  }
}

// The children were made, and the watch breaks before it shows them.
TEST(Freshness, REV3_F7_ChildThatABrokenWatchDoesNotShowIsNotMissing) {
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
    Observed observed = fixtures::Fresh();
    World world(observed);
    world.Turn();
    (void)world.Run();
    ASSERT_EQ(world.Status()["status"].AsString(), "Ready");
    for (const Kind seen : {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate}) {
      if (seen != kind) world.server.ShowOnly(seen, world.controller.cache());
    }
    world.clock.Advance(minutes(1));
    world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
      if (line.find("GET ") != 0) return {};
      return MapServer::Fail(503, "ServiceUnavailable");
    });
    (void)world.Run();
    EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
  }
}

TEST(Freshness, WatchThatIsRenewedIsNoNews) {
  World world(Converged());
  world.Turn();
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    if (reflector.options().resource != kube::kDaemonSets) continue;
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
  world.refused = "/daemonsets";
  world.server.Refuse(world.refused, 503, "ServiceUnavailable");
  world.clock.Advance(seconds(1));
  world.Turn();
  EXPECT_FALSE(world.controller.shared().Gather(kUid).facts.views.children_are_current);
  EXPECT_TRUE(world.enqueued.empty());
}

// Keeps the watch of this kind open and silent for `time`, and renews it each minute. The watches
// of other kinds deliver bookmarks.
void KeepSilent(World& world, const kube::Resource& silent, minutes time) {
  for (int i = 0; i < time / minutes(1); ++i) {
    world.clock.Advance(minutes(1));
    for (kube::Reflector& reflector : world.controller.reflectors()) {
      if (reflector.options().resource == silent) {
        reflector.OnStreamEnd(world.clock.Now(), {});
      } else {
        (void)reflector.OnStreamData(world.clock.Now(), world.Bookmark(reflector));
      }
    }
    world.Turn();
  }
}

int ListsOf(const World& world, const kube::Resource& resource) {
  return static_cast<int>(std::ranges::count_if(world.server.lines(), [&](const auto& line) {
    return line.find("/" + resource.plural + "?") != std::string::npos;
  }));
}

TEST(Freshness, REV4_K4_ViewWhoseWatchIsSilentIsListedOrStale) {
  World world(Converged());
  world.Turn();
  world.server.ForgetLines();
  KeepSilent(world, kube::kNodes, minutes(30));
  EXPECT_EQ(ListsOf(world, kube::kNodes), 6);
  EXPECT_EQ(ListsOf(world, kube::kPods), 0) << "bookmarks prove that they are current";
  const auto freshness = [&] {
    return world.controller.shared().Gather(kUid).facts.views.Of(Kind::kNode);
  };
  EXPECT_EQ(freshness(), Freshness::kFresh);
  world.server.Refuse("/nodes?limit=", 503, "ServiceUnavailable");
  KeepSilent(world, kube::kNodes, minutes(4));
  EXPECT_EQ(freshness(), Freshness::kFresh);
  KeepSilent(world, kube::kNodes, minutes(2));
  EXPECT_EQ(freshness(), Freshness::kStale);
}

TEST(Freshness, REV4_K4_RestoreListsEveryKindOnceInFiveMinutes) {
  World world(Converged());
  world.Turn();
  const auto restore = [&] {
    world.server.ForgetLines();
    for (kube::Reflector& reflector : world.controller.reflectors()) {
      if (reflector.options().resource != kube::kPods) continue;
      EXPECT_FALSE(reflector.OnStreamData(
          world.clock.Now(),
          R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"x","resourceVersion":"7"}}})"));
    }
    world.Turn();
    for (int i = 0; i < 2; ++i) {
      world.clock.Advance(seconds(2));  // The back-off of the watch that went back.
      world.Turn();
    }
    return world.server.lines().size();
  };
  const std::size_t kinds = world.controller.reflectors().size();
  EXPECT_EQ(restore(), kinds);
  const auto pods = static_cast<std::size_t>(ListsOf(world, kube::kPods));
  EXPECT_EQ(restore(), pods) << "the last restore was a moment ago";
  KeepSilent(world, api::kComputeDomains, minutes(6));
  EXPECT_EQ(ListsOf(world, kube::kNodes), 1) << "the second restore is not forgotten";
}

// The autoscaler adds nodes for the job, the view of nodes is old, and the domain is deleted.
TEST(Freshness, REV3_F3_JobOnNodesThatTheViewLacksKeepsItsDaemons) {
  const Observed observed = JustDeleted();
  PassWorld world(observed, false);
  for (const char* node : {"node-0", "node-1"}) world.server.Remove(Kind::kNode, {.name = node});
  world.server.ShowAll(world.cache);
  for (const fixtures::Stored& stored : fixtures::StoreAll(observed)) {
    if (stored.kind == Kind::kNode) world.server.Put(stored);
  }
  (void)world.Run();
  EXPECT_EQ(world.Position(kDeleteDaemonSet), -1);
  EXPECT_GE(world.Position("GET /api/v1/nodes?fieldSelector"), 0) << "a live read says whether";
}

TEST(Freshness, REV3_F3_JobOnNodesThatDoNotExistKeepsNothing) {
  const Observed observed = JustDeleted();
  PassWorld world(observed, false);
  for (const char* node : {"node-0", "node-1"}) world.server.Remove(Kind::kNode, {.name = node});
  world.server.ShowAll(world.cache);
  (void)world.Run();
  EXPECT_GE(world.Position(kDeleteDaemonSet), 0);
}

// The network between nodes and control plane is cut while all jobs run.
TEST(Freshness, REV3_F3_JobOnANodeThatIsNotReadyKeepsItsDaemonsForFiveMinutes) {
  Observed observed = JustDeleted();
  for (auto& [name, node] : observed.nodes) node.ready = false;
  for (api::Node& node : observed.children.labelled_nodes) node.ready = false;
  PassWorld world(observed);
  std::chrono::nanoseconds waited(0);
  for (int i = 0; i < 100 && world.Position(kDeleteDaemonSet) < 0; ++i) {
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    if (world.Position(kDeleteDaemonSet) >= 0) break;
    ASSERT_TRUE(outcome.requeue_after);
    world.clock.Advance(*outcome.requeue_after);
    waited += *outcome.requeue_after;
  }
  EXPECT_GE(waited, minutes(5));
  EXPECT_LT(waited, minutes(6)) << "then it is over, before the grace period of ten minutes";
}

// The Nodes are ready, as a live read shows. Their watch is frozen in a moment in which they were
// not, and its bookmarks go on.
TEST(Freshness, REV4_K4_NodeThatIsReadyInALiveReadHasNotEnded) {
  PassWorld world(JustDeleted());
  const std::vector<std::string> names = {"node-0", "node-1"};
  for (const std::string& name : names) {
    api::Node node = fixtures::MakeNode(name);
    node.ready = false;
    world.server.Put(fixtures::Store(node));
  }
  world.server.ShowAll(world.cache);
  for (const std::string& name : names) {
    world.server.Put(fixtures::Store(fixtures::MakeNode(name)));
  }
  bool is_read = false;
  for (int i = 0; i < 33; ++i) {  // Five and a half minutes, of a grace period of ten.
    for (const Kind kind : {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate,
                            Kind::kClique, Kind::kDaemonPod, Kind::kClaim}) {
      world.server.ShowOnly(kind, world.cache);
    }
    const Outcome outcome = world.Run();
    is_read = is_read || world.Position("GET /api/v1/nodes?fieldSelector") >= 0;
    if (!outcome.error) world.clock.Advance(seconds(10));
  }
  EXPECT_TRUE(is_read) << "by the view they are lost for 5 minutes";
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U) << "both pods of the job run";
}

// The last daemon ends on a node that is ready again, as a live read shows.
TEST(Freshness, REV4_K4_FinalizerWaitsForADaemonOnANodeThatIsReadyInALiveRead) {
  for (const bool is_ready : {true, false}) {
    Observed observed = JustDeleted();
    observed.children = {.daemon_pods = {observed.children.daemon_pods[0]}};
    fixtures::Delete(observed.children.daemon_pods[0].meta, {});
    for (auto& [name, node] : observed.nodes) node.domain.clear();
    PassWorld world(observed);
    api::Node node = fixtures::MakeNode("node-0");
    node.domain.clear();
    node.ready = false;
    world.server.Put(fixtures::Store(node));
    world.server.ShowAll(world.cache);
    node.ready = is_ready;
    world.server.Put(fixtures::Store(node));
    EXPECT_FALSE(world.Run().error);
    EXPECT_GE(world.Position("GET /api/v1/nodes?fieldSelector"), 0);
    EXPECT_EQ(world.Domain().IsNull(), !is_ready);
  }
}

// The job is on a lost node, and another client's finalizer keeps the DaemonSet. Each pass reads
// the lost node before it counts its job.
TEST(Freshness, REV4_K4_DeletionUnderALostNodeMakesNothingAgain) {
  Observed observed = fixtures::Marked(JustDeleted());
  observed.nodes["node-1"].ready = false;
  std::erase_if(observed.children.claims, [](const api::ResourceClaim& claim) {
    return claim.node == "node-0" && !claim.channel_domain.empty();
  });
  observed.children.daemon_sets[0].meta.finalizers = {"example.org/backup"};
  PassWorld world(observed);
  std::vector<std::string> writes;
  for (int i = 0; i < 100; ++i) {
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    std::ranges::copy(world.Writes(), std::back_inserter(writes));
    if (!outcome.error) world.clock.Advance(seconds(5));
  }
  EXPECT_EQ(world.server.Count(Kind::kClique), 0U);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
  for (const std::string& write : writes) EXPECT_FALSE(write.starts_with("POST ")) << write;
}

// A right that is taken away, asked for through an API server that now and then answers 503.
TEST(Freshness, REV3_F13_RefusalThatIsMixedWithOtherErrorsIsToldOnce) {
  World world(Converged());
  world.Turn();
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    if (reflector.options().resource == kube::kResourceClaimTemplates) {
      reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
    }
  }
  world.refused = "/resourceclaimtemplates";
  int asked = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line.find("GET /apis/resource.k8s.io/v1/resourceclaimtemplates") == std::string::npos) {
      return {};
    }
    return ++asked % 2 == 0 ? MapServer::Fail(503, "ServiceUnavailable")
                            : MapServer::Fail(403, "Forbidden");
  });
  int storms = 0;
  for (int i = 0; i < 360; ++i) {
    world.clock.Advance(seconds(10));
    world.Turn();
    storms += world.enqueued.contains(kUid) ? 1 : 0;
  }
  EXPECT_GT(asked, 10);
  EXPECT_LE(storms, 2);
}

// While nothing can be read nobody is told that nodes are not.
TEST(Freshness, OutageOfTheApiServerChangesNoStatus) {
  World world(Converged());
  world.Turn();
  (void)world.Run();
  const auto is_told = [&] {
    return json::Serialize(world.Status()).find("Nodes are not read") != std::string::npos;
  };
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
  world.refused = "/";
  world.server.Refuse("GET ", 503, "ServiceUnavailable");
  for (int i = 0; i < 10; ++i) {
    world.clock.Advance(minutes(1));
    world.Turn();
  }
  EXPECT_TRUE(world.controller.IsDisconnected());
  world.server.Intercept({});
  (void)world.Run();  // A worker is back before the watches are.
  EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
  EXPECT_FALSE(is_told());
  world.refused.clear();
  world.clock.Advance(minutes(1));
  world.Turn();
  EXPECT_FALSE(world.controller.IsDisconnected());
  (void)world.Run();
  EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
  EXPECT_FALSE(is_told());
}

MapServer::Reply PageOfAProxy() {
  return http::Response{.status = 404, .body = "<html>default backend - 404</html>"};
}

TEST(Freshness, REV3_F12_PageOfAProxyDoesNotProveThatADomainIsGone) {
  PassWorld world(JustDeleted());
  world.server.Intercept([](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line.find("/computedomains/train") == std::string::npos) return {};
    return PageOfAProxy();
  });
  const Outcome outcome = world.Run();
  EXPECT_TRUE(outcome.error) << "it is tried again";
  EXPECT_TRUE(world.Writes().empty());
}

TEST(Freshness, REV3_F12_PagesOfAProxyDoNotProveThatNothingIsLeft) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  PassWorld world(observed, false);
  world.server.ShowOnly(Kind::kComputeDomain, world.cache);  // Everything else is behind.
  world.server.Intercept([](const std::string& line) -> std::optional<MapServer::Reply> {
    for (const char* list : {"/daemonsets?", "/pods?", "/computedomaincliques?", "/nodes?"}) {
      if (line.find(list) != std::string::npos) return PageOfAProxy();
    }
    return {};
  });
  for (int i = 0; i < 4; ++i) {
    (void)world.Run();
    world.server.ShowOnly(Kind::kComputeDomain, world.cache);
    world.clock.Advance(seconds(11));
  }
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
}

// One of several API servers still decodes by the CRD of before.
TEST(Freshness, REV3_F8_ConditionsAreWrittenAgainAfterOneReplyThatDroppedThem) {
  Observed observed = Converged();
  observed.domain->status = {};
  PassWorld world(observed);
  int writes = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with("PATCH") || !line.ends_with("/status") || writes++ > 0) return {};
    json::Value object = world.server.Get(Kind::kComputeDomain, {"team-a", "train"});
    object["status"]["status"] = "Ready";
    return MapServer::Ok(object);
  });
  const Outcome outcome = world.Run();
  EXPECT_TRUE(world.Condition("Ready").IsNull());
  ASSERT_TRUE(outcome.requeue_after);
  EXPECT_LE(*outcome.requeue_after, minutes(1));
  world.server.ShowAll(world.cache);
  world.clock.Advance(minutes(1));
  (void)world.Run();
  EXPECT_EQ(world.Condition("Ready")["status"].AsString(), "True");
}

// The API server ends the watch when the CRD changes, and then all decode by the new one.
TEST(Freshness, REV3_F8_ConditionsAreWrittenAgainOnceTheWatchOfDomainsIsRenewed) {
  Observed observed = Converged();
  observed.domain->status = {};
  World world(observed);
  world.Turn();
  int writes = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with("PATCH") || !line.ends_with("/status") || writes++ > 1) return {};
    json::Value object = world.server.Get(Kind::kComputeDomain, {"team-a", "train"});
    object["status"]["status"] = "Ready";
    return MapServer::Ok(object);
  });
  (void)world.Run();
  world.clock.Advance(minutes(1));
  (void)world.Run();
  ASSERT_EQ(writes, 2);
  ASSERT_TRUE(world.Status()["conditions"].IsNull());
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    if (reflector.options().resource != api::kComputeDomains) continue;
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
  world.clock.Advance(seconds(2));
  world.Turn();
  EXPECT_EQ(world.enqueued.count(kUid), 1U);
  EXPECT_NE(world.ReadyReason(), "");
}

}  // namespace
}  // namespace compute_domain

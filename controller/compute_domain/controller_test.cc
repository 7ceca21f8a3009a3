#include "controller/compute_domain/controller.h"

#include <gtest/gtest.h>

#include "test/fixtures/controller_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kOtherUid;
using fixtures::kUid;
using fixtures::MapServer;
using World = fixtures::ControllerWorld;
using Uids = std::set<std::string>;

TEST(Controller, DomainsAreLookedAtOnceEveryCollectionWasRead) {
  World world(Converged());
  EXPECT_FALSE(world.controller.CanServe());
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe());
  EXPECT_TRUE(world.controller.HasSynced());
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
  world.Turn();
  EXPECT_EQ(world.enqueued, Uids()) << "nothing has changed";
}

TEST(Controller, CollectionThatIsOnlyUnavailableIsWaitedFor) {
  for (const char* collection : {"/computedomains", "/nodes", "/daemonsets", "/resourceclaims?"}) {
    SCOPED_TRACE(collection);
    World world(Converged());
    world.server.Refuse(collection, 503, "ServiceUnavailable");
    world.Turn();
    EXPECT_FALSE(world.controller.CanServe());
    world.server.Intercept({});
    world.TurnLater();
    EXPECT_TRUE(world.controller.CanServe());
  }
}

TEST(Controller, N2_NothingIsDoneBeforeTheDomainsThemselvesWereRead) {
  for (const int status : {403, 404}) {
    World world(Converged());
    world.server.Refuse("/computedomains", status, status == 403 ? "Forbidden" : "NotFound");
    world.Turn();
    world.TurnLater();
    EXPECT_FALSE(world.controller.CanServe());
    EXPECT_EQ(world.enqueued, Uids());
  }
}

TEST(Controller, MissingRightOrKindIsToldToEveryDomainAndSoIsItsEnd) {
  struct Row {
    const char* collection;
    int status;
    const char* reason;
  };
  for (const Row& row : {Row{"/resourceclaims?", 404, "DRANotServed"},
                         Row{"/resourceclaimtemplates", 404, "DRANotServed"},
                         Row{"/daemonsets", 403, "PermissionMissing"}}) {
    SCOPED_TRACE(std::string(row.collection) + row.reason);
    Observed observed = Converged();
    observed.domain->status = {};  // It was never provisioned.
    observed.children = {};
    World world(observed);
    world.server.Refuse(row.collection, row.status, row.status == 403 ? "Forbidden" : "NotFound");
    world.Turn();
    EXPECT_TRUE(world.controller.CanServe());
    EXPECT_FALSE(world.controller.HasSynced());
    EXPECT_EQ(world.enqueued, (Uids{kUid}));
    EXPECT_EQ(world.ReadyReason(), row.reason);

    world.server.Intercept({});
    world.TurnLater();
    EXPECT_EQ(world.enqueued, (Uids{kUid}));
    EXPECT_TRUE(world.controller.HasSynced());
  }
}

TEST(Controller, C20_K2_WithoutARightToClaimsDomainsAreProvidedForAndNobodyIsSaidToUseThem) {
  Observed observed = Converged();
  observed.domain->status = {};  // It was never provisioned.
  World world(observed);
  world.server.Refuse("/resourceclaims?", 403, "Forbidden");
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe());
  EXPECT_TRUE(world.controller.HasSynced());
  EXPECT_EQ(world.Reason("Accepted"), "Accepted");
  EXPECT_EQ(world.Reason("InUse"), "PermissionMissing");
  EXPECT_EQ(world.Reason("Ready"), "AllMembersReady");

  world.server.Intercept({});
  world.clock.Advance(std::chrono::minutes(10));
  world.Turn();
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
  const Views views = world.controller.shared().Gather(kUid).facts.views;
  EXPECT_TRUE(views.claims_are_granted && views.claims_are_read && views.problems.empty());
}

// Every watch of the collection is renewed, and refused.
void RefuseRenewals(World& world, const std::string& collection) {
  world.server.Refuse(collection, 403, "Forbidden");
  world.refused = collection;
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
}

// As while the storage of a kind that has just come is being made: until it was read, what is there
// is unknown.
TEST(Controller, N2_KindThatIsServedButNotReadYetIsStillMissingToEveryDomain) {
  Observed observed = Converged();
  observed.domain->status = {};  // It was never provisioned.
  observed.children = {};
  World world(observed);
  world.server.Refuse("/resourceclaimtemplates", 404, "NotFound");
  world.Turn();
  ASSERT_EQ(world.ReadyReason(), "DRANotServed");
  world.server.Refuse("/resourceclaimtemplates", 429, "TooManyRequests");
  world.TurnLater();
  EXPECT_EQ(world.ReadyReason(), "DRANotServed");
  world.server.Intercept({});
  world.TurnLater();
  EXPECT_TRUE(world.controller.HasSynced());
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
}

TEST(Controller, C4_Passing403ChangesNothing) {
  for (const char* collection : {"/nodes", "/daemonsets", "/resourceclaims?", "/pods"}) {
    SCOPED_TRACE(collection);
    World world(Converged());
    for (const std::string node : {"node-0", "node-1"}) world.server.PutSlice(node, "of-" + node);
    world.Turn();
    (void)world.Run();
    RefuseRenewals(world, collection);
    for (int seconds = 0; seconds < 59; ++seconds) {
      world.clock.Advance(std::chrono::seconds(1));
      world.Turn();
      EXPECT_EQ(world.enqueued, Uids());
    }
    EXPECT_EQ(world.ReadyReason(), "AllMembersReady");
    world.server.Intercept({});
    world.refused.clear();
    world.TurnLater();
    EXPECT_EQ(world.ReadyReason(), "AllMembersReady");
  }
}

TEST(Controller, C4_RightThatStaysAwayIsSaidAndTakesNothingFromWhatWasMade) {
  World world(Converged());
  for (const std::string node : {"node-0", "node-1"}) world.server.PutSlice(node, "of-" + node);
  world.Turn();
  RefuseRenewals(world, "/daemonsets");
  world.Turn();
  for (int minutes = 0; minutes < 3; ++minutes) world.TurnLater();
  EXPECT_EQ(world.ReadyReason(), "AllMembersReady");
  EXPECT_EQ(world.Reason("Accepted"), "PermissionMissing");
}

TEST(Controller, C4_RightThatIsMissingInAnAdditionalNamespaceIsNobodysObjection) {
  Observed observed = Converged();
  observed.domain->status = {};
  World world(observed);
  world.server.Refuse("/namespaces/" + fixtures::kOldDriverNs + "/daemonsets", 403, "Forbidden");
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe());
  EXPECT_EQ(world.Reason("Accepted"), "Accepted");
  EXPECT_EQ(world.controller.shared().Gather(fixtures::kUid).facts.views.unreadable_namespaces,
            std::set<std::string>{fixtures::kOldDriverNs});
}

TEST(Controller, M3_M7_NothingReadForAMinuteIsBlindness) {
  World world(Converged());
  world.Turn();
  RefuseRenewals(world, "/nodes");
  world.TurnLater();
  world.TurnLater();
  EXPECT_FALSE(world.controller.IsDisconnected()) << "all else is read";

  RefuseRenewals(world, "/");
  world.Turn();
  world.clock.Advance(std::chrono::seconds(59));
  world.Turn();
  EXPECT_FALSE(world.controller.IsDisconnected()) << "it may pass";
  world.clock.Advance(std::chrono::seconds(1));
  world.Turn();
  EXPECT_TRUE(world.controller.IsDisconnected());

  world.server.Intercept({});
  world.refused.clear();
  world.TurnLater();
  EXPECT_FALSE(world.controller.IsDisconnected());
}

TEST(Controller, C5_RollThatFailsInOneDomainIsToldToAllOfThem) {
  Observed observed = Converged();
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = "new";
  set.template_generation = set.meta.generation = 2;
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.template_hash = "new";
    pod.ready = false;
  }
  World world(observed);
  world.Turn();
  world.Turn();
  EXPECT_EQ(world.enqueued, Uids()) << "nothing is known of it";
  (void)world.Run();
  world.Turn();
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
  world.Turn();
  EXPECT_EQ(world.enqueued, Uids()) << "once is enough";
}

TEST(Controller, C3_NodesThatCannotBeReadFromTheStartAreNotTakenForLost) {
  World world(Converged());
  world.server.Refuse("/nodes", 403, "Forbidden");
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe());
  EXPECT_EQ(world.ReadyReason(), "NodesNotRead");
  EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.Of(Kind::kNode),
            Freshness::kUnknown);
  world.server.Intercept({});
  world.TurnLater();
  EXPECT_EQ(world.enqueued, (Uids{kUid})) << "nodes are known now";
}

TEST(Controller, B56_ResourceSlicesThatCannotBeReadAreDoneWithout) {
  for (const int status : {403, 404}) {
    World world(Converged());
    world.server.Refuse("/resourceslices", status, status == 403 ? "Forbidden" : "NotFound");
    world.Turn();
    EXPECT_TRUE(world.controller.CanServe());
    EXPECT_TRUE(world.controller.HasSynced());
    (void)world.Run();
    world.clock.Advance(std::chrono::minutes(1));
    EXPECT_EQ(world.ReadyReason(), "AllMembersReady") << "no node is accused";
    EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.Of(Kind::kResourceSlice),
              Freshness::kUnknown);

    world.server.Intercept({});
    world.TurnLater();
    EXPECT_EQ(world.enqueued, Uids{kUid}) << "their plugins can be judged now";
    EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.Of(Kind::kResourceSlice),
              Freshness::kFresh);
  }
}

// One object in etcd that the API server cannot decode makes every LIST of its kind a 500.
TEST(Controller, REV4_K8_CollectionThatFailsForHalfAMinute_HoldsUpNoStart) {
  const std::vector<std::pair<const char*, int>> rows = {{"/resourceslices", 500},
                                                         {"/nodes", 500},
                                                         {"/resourceclaims?", 500},
                                                         {"/resourceclaimtemplates", 500},
                                                         {"/daemonsets", 500},
                                                         {"/daemonsets", 404},
                                                         {"/pods", 500},
                                                         {"/computedomaincliques", 500},
                                                         {"/namespaces/nvidia-system/pods", 500}};
  for (const auto& [collection, status] : rows) {
    SCOPED_TRACE(collection + std::to_string(status));
    World world(Converged());
    world.server.Refuse(collection, status, "InternalError");
    world.Turn();
    EXPECT_FALSE(world.controller.CanServe());
    world.clock.Advance(std::chrono::seconds(29));
    world.Turn();
    EXPECT_FALSE(world.controller.CanServe());
    world.clock.Advance(std::chrono::seconds(1));
    world.Turn();
    EXPECT_TRUE(world.controller.CanServe()) << world.controller.WhyItCannotServe();
    EXPECT_GE(world.logger.Count("Continuing without a resource that cannot be read"), 1U);
    for (int minute = 0; minute < 60; ++minute) world.TurnLater();
    EXPECT_TRUE(world.controller.CanServe());
    (void)world.Run();
    EXPECT_EQ(world.Status()["status"].AsString(), "Ready") << "what serves stays ready";

    world.server.Intercept({});
    world.clock.Advance(std::chrono::minutes(10));
    world.Turn();
    EXPECT_EQ(world.enqueued, (Uids{kUid})) << "all is known now";
    EXPECT_TRUE(world.controller.HasSynced());
    EXPECT_TRUE(world.controller.shared().Gather(kUid).facts.views.problems.empty());
  }
}

TEST(Controller, REV4_K8_DomainsThatCannotBeRead_AreNamed) {
  World world(Converged());
  world.server.Refuse("/computedomains", 500, "InternalError");
  for (int minute = 0; minute < 60; ++minute) world.TurnLater();
  EXPECT_TRUE(world.controller.WhyItCannotServe().starts_with(
      "computedomains.resource.nvidia.com cannot be read: 500 InternalError"))
      << world.controller.WhyItCannotServe();
  world.server.Intercept({});
  world.TurnLater();
  EXPECT_EQ(world.controller.WhyItCannotServe(), "");

  RefuseRenewals(world, "/computedomains");
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe()) << "it may pass";
  world.clock.Advance(std::chrono::seconds(10));
  world.Turn();
  EXPECT_FALSE(world.controller.CanServe());
  world.server.Intercept({});
  world.refused.clear();
  world.TurnLater();
  EXPECT_TRUE(world.controller.CanServe());
}

TEST(Controller, REV4_K8_DomainOfUnreadChildren_IsNeitherCreatedNorCalledWrong) {
  for (const char* collection : {"/daemonsets", "/resourceclaimtemplates"}) {
    Observed observed = Converged();
    observed.domain->status = {};  // It was never provisioned.
    observed.children = {};
    World world(observed);
    world.server.Refuse(collection, 500, "InternalError");
    world.Turn();
    world.TurnLater();
    (void)world.Run();
    EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U) << "it may exist";
    EXPECT_EQ(world.Reason("Accepted"), "ChildrenNotRead");
    const json::Value status = world.Status();
    for (const json::Value& condition : status["conditions"].items()) {
      const std::string& type = condition["type"].AsString();
      const bool needs_them = type == "Accepted" || type == "Provisioned" || type == "Ready";
      if (needs_them) {
        EXPECT_EQ(condition["status"].AsString(), "Unknown") << type;
      }
    }
    world.server.Intercept({});
    world.TurnLater();
    (void)world.Run();
    EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
  }
}

TEST(Controller, REV4_K8_NamespaceOfUnreadDaemonSets_MayHoldAnything) {
  for (const auto& [kind, is_left_out] :
       {std::pair("/pods", true), std::pair("/computedomaincliques", true),
        std::pair("/daemonsets", false)}) {
    World world(Converged());
    world.server.Refuse("/namespaces/" + fixtures::kOldDriverNs + kind, 500, "InternalError");
    world.Turn();
    world.TurnLater();
    EXPECT_TRUE(world.controller.CanServe());
    const Views views = world.controller.shared().Gather(kUid).facts.views;
    EXPECT_EQ(views.unreadable_namespaces.contains(fixtures::kOldDriverNs), is_left_out) << kind;
    EXPECT_TRUE(views.problems.empty()) << "it concerns no domain in the first namespace";
  }
}

TEST(Controller, REV4_K8_WithoutTheCrdOfCliques_MembersComeFromStatus) {
  World world(Converged());
  for (const std::string node : {"node-0", "node-1"}) world.server.PutSlice(node, "of-" + node);
  world.server.SetServed(api::kComputeDomainCliques.plural, false);
  world.Turn();
  EXPECT_TRUE(world.controller.CanServe()) << "it waits for nothing";
  (void)world.Run();
  EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
  EXPECT_EQ(world.Status()["nodes"].items().size(), 2U);
  EXPECT_EQ(world.ReadyReason(), "DaemonsNotRead");
  const std::string said = json::Serialize(world.Status());
  EXPECT_NE(said.find("Cliques are not served, so members come from status alone"),
            std::string::npos);
  EXPECT_NE(said.find("install the CRD of computedomaincliques"), std::string::npos);
}

// A proxy answers 404, and discovery lists them.
TEST(Controller, REV4_K8_PageOfAProxy_DoesNotHideTheCliques) {
  World world(Converged());
  world.server.Refuse("/computedomaincliques", 404, "NotFound");
  world.Turn();
  EXPECT_FALSE(world.controller.CanServe()) << "it may pass";
  world.TurnLater();
  EXPECT_TRUE(world.controller.CanServe());
  const Views views = world.controller.shared().Gather(kUid).facts.views;
  EXPECT_TRUE(views.cliques_are_served);
  EXPECT_EQ(views.Of(Kind::kClique), Freshness::kUnknown);
}

TEST(Controller, REV4_K10_ClaimsThatCannotBeRead_AreTold) {
  World world(Converged());
  for (const std::string node : {"node-0", "node-1"}) world.server.PutSlice(node, "of-" + node);
  world.Turn();
  (void)world.Run();
  world.server.Refuse("/resourceclaims?", 503, "ServiceUnavailable");
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    if (reflector.options().resource != kube::kResourceClaims) continue;
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
  world.refused = "/resourceclaims?";
  world.TurnLater();
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
  EXPECT_EQ(world.Reason("InUse"), "ClaimsNotRead");
  EXPECT_EQ(world.ReadyReason(), "ClaimsNotRead");
  EXPECT_EQ(world.Status()["status"].AsString(), "Ready");
}

TEST(Controller, B56_ResourceSlicesOfOurDriverAreWaitedForAndNoOthersAreAskedFor) {
  World world(Converged());
  world.server.Refuse("/resourceslices", 503, "ServiceUnavailable");
  world.Turn();
  EXPECT_FALSE(world.controller.CanServe());
  EXPECT_FALSE(world.controller.HasSynced());
  world.server.Intercept({});
  world.server.ForgetLines();
  world.TurnLater();
  EXPECT_TRUE(world.controller.CanServe());
  int lists = 0;
  for (const std::string& line : world.server.lines()) {
    if (line.find("/resourceslices") == std::string::npos) continue;
    ++lists;
    EXPECT_NE(line.find("fieldSelector=spec.driver%3Dcompute-domain.nvidia.com"), std::string::npos)
        << line;
  }
  EXPECT_GT(lists, 0);
}

TEST(Controller, B56_ViewOfResourceSlicesIsOldWhileTheirWatchIsBroken) {
  World world(Converged());
  world.Turn();
  world.server.Refuse("/resourceslices", 503, "ServiceUnavailable");
  for (kube::Reflector& reflector : world.controller.reflectors()) {
    reflector.OnStreamEnd(world.clock.Now(), base::Fail(base::ErrorCode::kUnavailable, "cut"));
  }
  world.Turn();
  EXPECT_EQ(world.controller.shared().Gather(kUid).facts.views.Of(Kind::kResourceSlice),
            Freshness::kStale);
  EXPECT_EQ(world.enqueued, Uids()) << "it will pass";
}

TEST(Controller, B46_ClaimTemplatesOfAllNamespacesAreOneListAndWatchOfOurLabelAlone) {
  World world(Converged());
  ASSERT_EQ(Converged().facts.settings->driver_namespaces.size(), 2U);
  world.Turn();
  for (const auto& requests : {world.server.lines(), world.watches}) {
    std::vector<std::string> of_templates;
    for (const std::string& line : requests) {
      if (line.find("/resourceclaimtemplates") != std::string::npos) of_templates.push_back(line);
    }
    ASSERT_EQ(of_templates.size(), 1U);
    const std::string& one = of_templates[0];
    EXPECT_EQ(one.find("/namespaces/"), std::string::npos) << one;
    EXPECT_NE(one.find("labelSelector=resource.nvidia.com%2FcomputeDomain"), std::string::npos)
        << one;
  }
}

TEST(ControllerVersions, F28_TemplatesAreMadeInTheVersionThatIsServed) {
  for (const std::string& version : kube::kDraVersions) {
    SCOPED_TRACE(version);
    Observed observed = Converged();
    observed.children.templates.clear();
    World world(observed);
    world.ServeDra(version);
    world.Turn();
    EXPECT_TRUE(world.controller.HasSynced());
    EXPECT_FALSE(world.Run().error);
    const json::Value made =
        world.server.Get(Kind::kClaimTemplate, {fixtures::kUserNs, fixtures::kTemplateName});
    EXPECT_EQ(made["apiVersion"].AsString(), "resource.k8s.io/" + version);
    const json::Value& requests = made["spec"]["spec"]["devices"]["requests"];
    ASSERT_EQ(requests.items().size(), 1U);
    EXPECT_EQ(requests.items()[0].Find("exactly") == nullptr, version == "v1beta1");
  }
}

TEST(ControllerVersions, F28_AnotherVersionIsToldToEveryDomainAndNoneIsTheirCondition) {
  World world(Converged());
  for (const std::string node : {"node-0", "node-1"}) world.server.PutSlice(node, "of-" + node);
  world.ServeDra("v1beta2");
  world.Turn();
  EXPECT_EQ(world.enqueued, (Uids{kUid}));
  EXPECT_EQ(world.ReadyReason(), "AllMembersReady");
  world.ServeDra("v1");
  world.TurnLater();
  EXPECT_EQ(world.enqueued, (Uids{kUid})) << "its version has changed";
  EXPECT_EQ(world.ReadyReason(), "AllMembersReady");
  world.ServeDra("");
  for (int minutes = 0; minutes < 3; ++minutes) world.TurnLater();
  EXPECT_EQ(world.Reason("Accepted"), "DRANotServed");
  EXPECT_EQ(world.ReadyReason(), "AllMembersReady") << "what was made goes on";
}

// A live read in the old version finds nothing, and must not be taken for proof of it.
TEST(ControllerVersions, F28_DomainThatIsDeletedDuringADowngradeLeavesNothing) {
  Observed observed = fixtures::DeletingUnused();
  const auto templates = observed.children.templates;
  observed.children = {.templates = templates};
  for (auto& [name, node] : observed.nodes) node.domain.clear();
  World world(observed);
  world.Turn();
  world.ServeDra("v1beta1");
  for (int passes = 0; passes < 10; ++passes) {
    (void)world.Run();
    EXPECT_EQ(world.server.Count(Kind::kComputeDomain), 1U) << "its templates are still there";
    EXPECT_EQ(world.server.Count(Kind::kClaimTemplate), 2U);
    world.clock.Advance(std::chrono::seconds(20));
  }
  world.TurnLater();
  (void)world.Run();
  EXPECT_EQ(world.server.Count(Kind::kClaimTemplate), 0U) << "found in the version that is served";
}

TEST(Controller, OrphansAreLookedAtFromTheStart) {
  Observed observed = Converged();
  observed.domain.reset();
  for (auto& [name, node] : observed.nodes) node.domain = kOtherUid;
  World world(observed);
  world.Turn();
  EXPECT_EQ(world.enqueued, (Uids{kUid, kOtherUid}));
}

TEST(ErrorLog, FailedDomain_IsNamed_WithItsUid) {
  kube::RecordingLogger logger;
  ErrorLog log(logger);
  log.Failed("uid-1", "team-a/train", {.message = "no"});
  EXPECT_EQ(logger.Count("domain=team-a/train uid=uid-1 err=no"), 1U);
}

}  // namespace
}  // namespace compute_domain

#include <gtest/gtest.h>

#include "controller/compute_domain/pass/shared_state.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using base::ErrorCode;
using fixtures::Converged;
using fixtures::Fresh;
using fixtures::JustDeleted;
using fixtures::kCliqueId;
using fixtures::kDaemonName;
using fixtures::kDriverNs;
using fixtures::kOtherUid;
using fixtures::kTemplateName;
using fixtures::kUid;
using fixtures::kUserNs;
using fixtures::MapServer;
using fixtures::PassWorld;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

const std::string kDomainPath =
    "/apis/resource.nvidia.com/v1beta1/namespaces/team-a/computedomains/train";
const std::string kDaemonSetsPath = "/apis/apps/v1/namespaces/cdom-system/daemonsets";
const std::string kDaemonTemplatesPath =
    "/apis/resource.k8s.io/v1/namespaces/cdom-system/resourceclaimtemplates";
const std::string kWorkloadTemplatesPath =
    "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaimtemplates";

const kube::ObjectKey kWorkloadKey = {kUserNs, kTemplateName};

Observed WithoutWorkloadTemplate() {
  Observed observed = Converged();
  observed.children.templates.pop_back();
  return observed;
}

std::optional<ErrorCode> CodeOf(const Outcome& outcome) {
  return outcome.error ? std::optional(outcome.error->code) : std::nullopt;
}

// A pass that wrote comes back after this time, if the cache does not show the write before.
constexpr seconds kUntilShown{10};

std::size_t Children(const PassWorld& world) {
  return world.server.Count(Kind::kDaemonSet) + world.server.Count(Kind::kClaimTemplate);
}

TEST(Pass, Q2_ConvergedDomainIsLeftInPeace) {
  PassWorld world(Converged());
  const Outcome outcome = world.Run();
  EXPECT_TRUE(world.server.lines().empty());
  EXPECT_FALSE(outcome.error);
  EXPECT_FALSE(outcome.requeue_after);
}

Lines Reasons(const Outcome& outcome) {
  Lines reasons;
  for (const kube::Event& event : outcome.events) reasons.push_back(event.reason);
  return reasons;
}

TEST(Pass, ConditionThatWasWrittenIsTold) {
  PassWorld world([] {
    Observed observed = Converged();
    observed.nodes["node-1"].ready = false;
    return observed;
  }());
  EXPECT_EQ(Reasons(world.Run()), Lines{"NodeLost"});
}

TEST(Pass, ChildThatWasMadeAgainIsToldThoughStatusSaysNothingNew) {
  PassWorld world(WithoutWorkloadTemplate());
  EXPECT_EQ(Reasons(world.Run()), Lines{"Repaired"});
}

TEST(Pass, K5_DaemonSetThatSomebodyDeletesUnderAJobIsToldAndLogged) {
  PassWorld world(Converged());
  world.server.Remove(Kind::kDaemonSet, {kDriverNs, kDaemonName});
  world.server.ShowAll(world.cache);
  const Lines reasons = Reasons(world.Run());
  EXPECT_EQ(std::ranges::count(reasons, "DaemonsInterrupted"), 1);
  EXPECT_EQ(world.logger.Count("which interrupts IMEX under pods/train-0 on node-0"), 1U);
}

TEST(Pass, WriteThatWasRefusedIsNotTold) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Refuse("/", 503, "ServiceUnavailable");
  EXPECT_EQ(Reasons(world.Run()), Lines());
}

TEST(Pass, DeletionThatGoesOnOverAWorkloadIsTold) {
  PassWorld world(JustDeleted());
  const auto is_forced = [&] {
    const Lines reasons = Reasons(world.Run());
    return std::ranges::find(reasons, "DeletionForced") != reasons.end();
  };
  EXPECT_FALSE(is_forced());
  world.server.ShowAll(world.cache);
  world.clock.Advance(std::chrono::minutes(10));  // The grace.
  EXPECT_TRUE(is_forced());
}

TEST(Pass, Q2_NothingIsToldAtRest) {
  PassWorld world(Converged());
  EXPECT_EQ(Reasons(world.Run()), Lines());
}

TEST(Pass, S8_NewDomainGetsFinalizerThenChildrenThenStatus) {
  PassWorld world(Fresh());
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(
      world.server.lines(),
      (Lines{"PATCH " + kDomainPath, "POST " + kDaemonTemplatesPath, "POST " + kDaemonSetsPath,
             "POST " + kWorkloadTemplatesPath, "PATCH " + kDomainPath + "/status"}));
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items()[0].AsString(), api::kFinalizer);
  EXPECT_TRUE(world.Ready().starts_with("Idle:")) << world.Ready();
  EXPECT_EQ(world.Settle(), 0) << "one pass was enough";
}

TEST(Pass, P7_ChildrenTravelSideBySide) {
  PassWorld world(Fresh());
  ReconcilePass pass(world.shared, kUid);
  std::vector<std::size_t> steps;
  for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
    steps.push_back(requests.size());
    std::vector<MapServer::Reply> replies;
    replies.reserve(requests.size());
    for (const http::Request& request : requests) replies.push_back(world.server.Serve(request));
    pass.HandleReplies(std::move(replies));
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{1, 3, 1}));
}

TEST(Pass, S8_NoChildIsMadeIfTheFinalizerCouldNotBeStored) {
  for (const auto& [status, reason] :
       {std::pair{409, "Conflict"}, std::pair{403, "Forbidden"}, std::pair{404, "NotFound"},
        std::pair{500, "Internal"}, std::pair{429, "TooManyRequests"}}) {
    SCOPED_TRACE(status);
    PassWorld world(Fresh());
    world.server.Refuse("PATCH " + kDomainPath, status, reason);
    EXPECT_TRUE(world.Run().error);
    EXPECT_EQ(Children(world), 0U);
    EXPECT_EQ(world.Position("POST"), -1);
  }
}

// The view of domains stands still, and that of templates goes on.
TEST(Pass, R2_TemplateThatGoesWithItsDomainIsMadeOnceAtTheMost) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Remove(Kind::kComputeDomain, {kUserNs, "train"});
  int made = 0;
  for (int passes = 0; passes < 5; ++passes) {
    (void)world.Run();
    made += world.Position("POST " + kWorkloadTemplatesPath) >= 0 ? 1 : 0;
    world.server.Remove(Kind::kClaimTemplate, kWorkloadKey);  // As the garbage collector does.
    world.server.ShowOnly(Kind::kClaimTemplate, world.cache);
    world.clock.Advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(made, 1);
}

// Another leader, which sees that the domain is gone, takes away what this one makes for it.
TEST(Pass, R2_DaemonSetOfADomainThatIsGoneIsMadeOnceAtTheMost) {
  PassWorld world(Converged());
  world.Settle();
  world.server.Remove(Kind::kComputeDomain, {kUserNs, "train"});
  int made = 0;
  for (int passes = 0; passes < 5; ++passes) {
    world.server.Remove(Kind::kDaemonSet, {"cdom-system", api::DaemonName(kUid)});
    world.server.ShowOnly(Kind::kDaemonSet, world.cache);
    (void)world.Run();
    made += world.Position("POST " + kDaemonSetsPath) >= 0 ? 1 : 0;
    world.clock.Advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(made, 0);
}

TEST(Pass, R2_TemplateThatSomebodyDeletesIsMadeAgain) {
  PassWorld world(Converged());
  world.Settle();
  world.server.Remove(Kind::kClaimTemplate, kWorkloadKey);
  world.server.ShowAll(world.cache);
  EXPECT_FALSE(world.Run().error);
  EXPECT_GT(world.Position("POST " + kWorkloadTemplatesPath), world.Position("GET " + kDomainPath));
  EXPECT_GE(world.Position("GET " + kDomainPath), 0);
}

TEST(Pass, DomainThatWasDeletedMeanwhileGetsNeitherFinalizerNorChildren) {
  PassWorld world(Fresh());
  world.server.Remove(Kind::kComputeDomain, {kUserNs, "train"});
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kNotFound);
  EXPECT_EQ(Children(world), 0U);
}

TEST(Pass, B14_S6_FinalizerThatSomebodyAddedMeanwhileIsNotLost) {
  PassWorld world(Fresh());
  Observed newer = Fresh();
  newer.domain->meta.finalizers = {"example.com/theirs"};
  world.server.Put(fixtures::Store(*newer.domain));  // The cache is behind.
  const Outcome refused = world.Run();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict) << (refused.error ? refused.error->message : "");
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
  world.Settle();
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 2U);
}

TEST(Pass, RefusedCreateIsToldInTheSamePassAndHoldsNothingElseUp) {
  PassWorld world(Fresh());
  world.server.Refuse("POST " + kDaemonSetsPath, 403, "Forbidden");
  const Outcome outcome = world.Run();
  EXPECT_EQ(CodeOf(outcome), ErrorCode::kForbidden);
  ASSERT_TRUE(outcome.error);
  EXPECT_TRUE(outcome.error->message.starts_with("create DaemonSet cdom-system/" + kDaemonName))
      << outcome.error->message;
  EXPECT_TRUE(world.Ready().starts_with("Forbidden: create DaemonSet")) << world.Ready();
  EXPECT_EQ(world.Domain()["status"]["status"].AsString(), "NotReady");
  EXPECT_EQ(Children(world), 2U);

  world.server.ShowAll(world.cache);
  EXPECT_TRUE(world.Run().error);
  EXPECT_EQ(world.Position("/status"), -1) << "it was said";
  world.server.Intercept({});
  world.Settle();
  EXPECT_EQ(Children(world), 3U);
  EXPECT_TRUE(world.Ready().starts_with("Idle")) << world.Ready();
}

TEST(Pass, WhatTheServerAskedUsToWaitIsHandedOn) {
  PassWorld world(Fresh());
  world.server.Intercept([](const std::string&) -> std::optional<MapServer::Reply> {
    return http::Response{.status = 429, .body = "{}", .retry_after = seconds(7)};
  });
  const Outcome outcome = world.Run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->retry_after, seconds(7));
}

// ---- A name that is taken.

TEST(Pass, R3_ChildThatExistsAlreadyAndIsOursIsAsGoodAsMade) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Put(fixtures::Store(fixtures::MakeWorkloadTemplate()));  // The cache is behind.
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.server.lines(), (Lines{"POST " + kWorkloadTemplatesPath,
                                         "GET " + kWorkloadTemplatesPath + "/" + kTemplateName}));
  world.server.ShowAll(world.cache);
  world.Run();
  EXPECT_TRUE(world.server.lines().empty());
}

TEST(Pass, B39_ChildThatExistsAlreadyAndIsNotOursIsLeftAloneAndSaid) {
  for (const std::string& domain : {std::string(), kOtherUid}) {
    PassWorld world(WithoutWorkloadTemplate());
    api::ResourceClaimTemplate theirs = fixtures::MakeWorkloadTemplate();
    theirs.domain = domain;
    theirs.meta.uid = "theirs";
    theirs.meta.owners.clear();
    world.server.Put(fixtures::Store(theirs));
    const json::Value before = world.server.Get(Kind::kClaimTemplate, kWorkloadKey);

    EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kAlreadyExists) << "so that it is tried again";
    EXPECT_TRUE(world.Ready().starts_with("TemplateNameTaken")) << world.Ready();
    EXPECT_EQ(world.server.Get(Kind::kClaimTemplate, kWorkloadKey), before);
    world.server.ShowAll(world.cache);
    EXPECT_TRUE(world.Run().error);
    EXPECT_EQ(world.Position("/status"), -1) << "it was said";

    world.server.Remove(Kind::kClaimTemplate, kWorkloadKey);
    world.Settle();
    EXPECT_TRUE(world.Ready().starts_with("AllMembersReady")) << world.Ready();
  }
}

TEST(Pass, NameThatIsFreedBetweenCreateAndReadIsUsedInTheSamePass) {
  PassWorld world(WithoutWorkloadTemplate());
  bool refused = false;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (refused || !line.starts_with("POST")) return {};
    refused = true;
    return MapServer::Fail(409, "AlreadyExists");
  });
  EXPECT_FALSE(world.Run().error);
  EXPECT_FALSE(world.server.Get(Kind::kClaimTemplate, kWorkloadKey).IsNull());
}

TEST(Pass, ChildThatTheServerFindsInvalidIsSaidInItsWords) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Refuse("POST", 422, "Invalid");
  world.Run();
  const json::Value domain = world.server.Get(Kind::kComputeDomain, {fixtures::kUserNs, "train"});
  std::string reason;
  for (const json::Value& condition : domain["status"]["conditions"].items()) {
    if (condition["type"].AsString() == "Provisioned") reason = condition["reason"].AsString();
  }
  EXPECT_EQ(reason, "ProvisioningFailed");
}

TEST(Pass, FourRoundsAreTheMostAndThenItIsTriedAgainLater) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Refuse("POST", 409, "AlreadyExists");  // And whenever it is read it is gone.
  const Outcome outcome = world.Run();
  EXPECT_EQ(world.server.lines().size(), 5U) << "create, read, create, read; status says so";
  ASSERT_TRUE(outcome.error) << "nothing else would bring it up again";
  EXPECT_EQ(CodeOf(outcome), ErrorCode::kUnavailable);
  world.server.Intercept({});
  EXPECT_FALSE(world.Run().error);
}

TEST(Pass, CreateWhoseReplyWasLostIsFoundAgain) {
  PassWorld world(WithoutWorkloadTemplate());
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with("POST")) return {};
    world.server.Put(fixtures::Store(fixtures::MakeWorkloadTemplate()));
    return base::Fail(ErrorCode::kUnknownOutcome, "the connection died");
  });
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kUnknownOutcome);
  world.server.Intercept({});
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.server.Count(Kind::kClaimTemplate), 2U);
}

TEST(Pass, K4_DaemonSetThatTheReferenceKeptIsKeptUnderAJob) {
  Observed observed = Converged();
  fixtures::Delete(observed.children.daemon_sets[0].meta, {std::string(api::kFinalizer)});
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  const json::Value kept = world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName});
  EXPECT_EQ(kept["metadata"]["uid"].AsString(), "daemon-set");
}

TEST(Pass, B36_ChildThatSomebodyDeletedIsLetGoAndMadeAgain) {
  Observed observed = Converged();
  observed.children.claims.clear();
  fixtures::Delete(observed.children.daemon_sets[0].meta, {std::string(api::kFinalizer)});
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  const json::Value made = world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName});
  EXPECT_TRUE(made["metadata"]["uid"].AsString().starts_with("made-"));
}

TEST(Pass, B37_ChangedSettingGoesIntoTheDaemonSetInOneWriteThatIsLocked) {
  const Observed observed = Fresh();
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  // The same cluster under a controller of another image.
  Facts facts = observed.facts;
  facts.settings.Edit().daemons.image = "registry.example/cdom:2";
  SharedState next(world.cache, facts, world.clock, world.logger);
  const auto pass = [&] {
    world.server.ShowAll(world.cache);
    world.server.ForgetLines();
    ReconcilePass one(next, kUid);
    for (auto requests = one.Next(); !requests.empty(); requests = one.Next()) {
      std::vector<MapServer::Reply> replies;
      replies.reserve(requests.size());
      for (const http::Request& request : requests) replies.push_back(world.server.Serve(request));
      one.HandleReplies(std::move(replies));
    }
    return one.outcome();
  };
  EXPECT_FALSE(pass().error);
  const json::Value set = world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName});
  EXPECT_EQ(set["spec"]["template"]["spec"]["containers"].items()[0]["image"].AsString(),
            "registry.example/cdom:2");
  EXPECT_EQ(set["metadata"]["generation"].AsInt(), 2);
  EXPECT_TRUE(set["metadata"]["annotations"]["cdom.dev/template-hash"].AsString().ends_with(":2"));
  EXPECT_FALSE(pass().error);
  for (const std::string& line : world.server.lines()) {
    EXPECT_FALSE(line.starts_with("PATCH") && line.find("daemonsets") != std::string::npos) << line;
  }
}

TEST(Pass, B24_LabelThatStayedBehindIsTakenAwayByATimerAndALiveRead) {
  Observed observed = Converged();
  fixtures::EndWorkload(observed.children.claims);
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  const Outcome waits = world.Run();
  ASSERT_TRUE(waits.requeue_after);
  EXPECT_LE(*waits.requeue_after, seconds(60));
  world.clock.Advance(seconds(60));
  EXPECT_FALSE(world.Run().error);
  for (const char* name : {"node-0", "node-1"}) {
    const json::Value node = world.server.Get(Kind::kNode, {"", name});
    EXPECT_TRUE(node["metadata"]["labels"][api::kDomainLabel].IsNull()) << name;
  }
}

// The workload has ended, and the labels that stayed behind on its nodes are due.
class DueLabels {
 public:
  DueLabels() {
    EXPECT_LT(world.Settle(), 5);
    world.clock.Advance(seconds(60));
  }
  void ClaimComesToNode1() {
    world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-1", "train-1")));
  }
  json::Value LabelOf(const char* node) const {
    return world.server.Get(Kind::kNode, {"", node})["metadata"]["labels"][api::kDomainLabel];
  }

  PassWorld world{[] {
    Observed observed = Converged();
    fixtures::EndWorkload(observed.children.claims);
    return observed;
  }()};
};

// The plugin finds the label on the node, so it sets none, and we take it off a moment later.
TEST(Pass, C8_ClaimThatIsPreparedBetweenTheLastLookAndTheRemovalHasItsLabelBack) {
  DueLabels due;
  due.world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line == "PATCH /api/v1/nodes/node-1") due.ClaimComesToNode1();
    return {};
  });
  EXPECT_FALSE(due.world.Run().error);
  EXPECT_EQ(due.LabelOf("node-1").AsString(), kUid);
  EXPECT_TRUE(due.LabelOf("node-0").IsNull());
}

TEST(Pass, C8_LookAfterARemovalThatFailsIsMadeUpFor) {
  DueLabels due;
  PassWorld& world = due.world;
  bool is_removed = false;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    is_removed = is_removed || line == "PATCH /api/v1/nodes/node-1";
    const bool lists_claims = line.find("/resourceclaims?") != std::string::npos;
    if (!is_removed || !lists_claims) return {};
    return MapServer::Fail(503, "ServiceUnavailable");
  });
  EXPECT_TRUE(world.Run().error);
  world.server.Intercept({});
  due.ClaimComesToNode1();
  world.Settle();
  EXPECT_EQ(due.LabelOf("node-1").AsString(), kUid);
}

TEST(Pass, C9_C19_LabelThatCannotBeTakenOffIsNoFaultOfTheDomain) {
  struct Row {
    int status;
    const char* reason;
    std::string says;
  };
  for (const Row& row : {Row{403, "Forbidden", "nodes is forbidden"},
                         Row{422, "Invalid", "admission webhook denied it"}}) {
    SCOPED_TRACE(row.status);
    Observed observed = Converged();
    api::Node idle = fixtures::MakeNode("node-9", kUid);
    observed.nodes[idle.meta.key.name] = idle;
    observed.children.labelled_nodes.push_back(std::move(idle));
    PassWorld world(observed);
    world.server.Refuse("PATCH /api/v1/nodes/node-9", row.status, row.reason, row.says);
    EXPECT_LT(world.Settle(), 5);
    const std::string before = world.Ready();
    world.clock.Advance(seconds(60));
    EXPECT_TRUE(world.Run().error) << "it is tried again";
    EXPECT_EQ(world.Ready(), before);
    const json::Value provisioned = world.Condition("Provisioned");
    EXPECT_EQ(provisioned["status"].AsString(), "True");
    EXPECT_NE(provisioned["message"].AsString().find(row.says), std::string::npos)
        << provisioned["message"].AsString();
  }
}

// ---- Nodes without a kubelet plugin.

TEST(Pass, B56_MissingPluginIsToldOnceAfterAWhileAndSoIsItsReturn) {
  PassWorld world(Converged());
  world.server.PutSlice("node-0", "slice-0");
  world.server.PutSlice("node-1", "slice-1");
  world.shared.SetViews({.freshness = {{Kind::kResourceSlice, Freshness::kFresh}}});
  world.Settle();
  world.server.RemoveSlice("slice-1");
  world.server.ShowAll(world.cache);
  const Outcome waits = world.Run();
  EXPECT_EQ(Reasons(waits), Lines());
  EXPECT_EQ(waits.requeue_after, seconds(60));
  world.clock.Advance(seconds(60));
  const Outcome tells = world.Run();
  EXPECT_EQ(Reasons(tells), Lines{"PluginMissing"});
  EXPECT_EQ(tells.requeue_after, kUntilShown);
  world.server.ShowAll(world.cache);
  world.clock.Advance(seconds(30));
  EXPECT_EQ(Reasons(world.Run()), Lines());
  EXPECT_TRUE(world.server.lines().empty()) << "it was said, and nothing has changed";

  world.server.PutSlice("node-1", "slice-2");
  world.server.ShowAll(world.cache);
  EXPECT_EQ(Reasons(world.Run()), Lines{"AllMembersReady"});
}

TEST(Pass, B26_DeletionThatWaitsDoesNotKeepAMissingPluginFromBeingNoticed) {
  PassWorld world(JustDeleted());
  world.server.PutSlice("node-0", "slice-0");
  world.shared.SetViews({.freshness = {{Kind::kResourceSlice, Freshness::kFresh}}});
  world.Settle();
  world.clock.Advance(seconds(5));  // It is said what the deletion waits for.
  world.Settle();
  const Outcome waits = world.Run();
  ASSERT_TRUE(waits.requeue_after);
  EXPECT_LE(*waits.requeue_after, seconds(60));
  world.clock.Advance(seconds(60));
  EXPECT_EQ(Reasons(world.Run()), Lines{"PodsStuckTerminating"});
}

// ---- IMEX under a job.

TEST(Pass, B17_ImexThatIsStartedAgainUnderPodsThatUseItIsToldOnce) {
  Observed observed = fixtures::Marked();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.imex = api::ImexReport{.state = "READY", .started = "2026-01-01T11:10:00Z"};
  }
  PassWorld world(observed);
  world.Settle();
  api::DaemonPod& pod = observed.children.daemon_pods[0];
  pod.imex->started = "2026-01-01T11:50:00Z";
  world.server.Put(fixtures::Store(pod));
  world.server.ShowAll(world.cache);
  EXPECT_EQ(Reasons(world.Run()), Lines{"ImexRestartedUnderJob"});
  world.clock.Advance(seconds(30));
  world.server.ShowAll(world.cache);
  EXPECT_EQ(Reasons(world.Run()), Lines());
}

// ---- Replacing daemons.

TEST(Pass, C5_FewCliquesOfTheClusterAreUnderWayAtATime) {
  for (const int most : {0, 1}) {
    Observed observed = Converged();
    observed.facts.settings.Edit().rollout = {.policy = RolloutPolicy::kAlways,
                                              .cliques_max = most};
    observed.children.daemon_sets[0].template_hash = "old";
    observed.children.daemon_sets[0].template_generation = 1;
    for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "older";
    PassWorld world(observed);
    std::size_t replaced = 0;
    for (int passes = 0; passes < 6; ++passes) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      replaced += static_cast<std::size_t>(
          std::ranges::count_if(world.Writes(), [](const std::string& line) {
            return line.starts_with("DELETE /api/v1/namespaces/cdom-system/pods/");
          }));
      world.clock.Advance(seconds(1));
    }
    EXPECT_EQ(replaced, static_cast<std::size_t>(most));
  }
}

// As a webhook may say it, with or without cause: what was not replaced is not waited for.
TEST(Pass, C5_DaemonWhoseDeletionConflictsIsReplacedWhenTheServerLetsIt) {
  Observed observed = Converged();
  observed.facts.settings.Edit().rollout.policy = RolloutPolicy::kAlways;
  observed.children.daemon_sets[0].template_hash = "old";
  observed.children.daemon_sets[0].template_generation = 1;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "older";
  PassWorld world(observed);
  const std::string replaces = "DELETE /api/v1/namespaces/cdom-system/pods/";
  world.server.Refuse(replaces, 409, "Conflict");
  const auto run_until_replaced = [&] {
    for (int passes = 0; passes < 3; ++passes) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      if (world.Position(replaces) >= 0) return true;
      world.clock.Advance(seconds(1));
    }
    return false;
  };
  ASSERT_TRUE(run_until_replaced()) << "and refused";
  world.server.Intercept([](const std::string&) { return std::nullopt; });
  EXPECT_TRUE(run_until_replaced());
}

// ---- Its own writes.

TEST(Pass, NothingIsSentUntilTheCacheShowsWhatTheLastPassWrote) {
  PassWorld world(Fresh());
  world.Run();
  world.clock.Advance(seconds(1));
  const Outcome waits = world.Run();
  EXPECT_TRUE(world.server.lines().empty());
  EXPECT_FALSE(waits.error);
  EXPECT_EQ(waits.requeue_after, milliseconds(9000)) << "the cache is given 10 s";

  for (const Kind kind : {Kind::kComputeDomain, Kind::kDaemonSet}) {
    world.server.ShowOnly(kind, world.cache);
    world.Run();
    EXPECT_TRUE(world.server.lines().empty()) << "the templates are still missing";
  }
  world.server.ShowOnly(Kind::kClaimTemplate, world.cache);
  EXPECT_FALSE(world.Run().requeue_after);
  EXPECT_TRUE(world.server.lines().empty()) << "and now nothing is left to do";
}

TEST(Pass, CacheThatNeverCatchesUpIsTrustedInTheEnd) {
  PassWorld world(Fresh());
  world.Run();
  world.clock.Advance(seconds(10));
  world.Run();
  EXPECT_FALSE(world.server.lines().empty());
  EXPECT_EQ(Children(world), 3U) << "what it repeats is harmless";
}

TEST(Pass, DeletedChildIsWaitedForUntilTheCacheShowsItGoneOrGoing) {
  Observed observed = JustDeleted();
  observed.children.templates[1].meta.finalizers = {std::string(api::kFinalizer)};
  PassWorld world(observed);
  world.Run();
  EXPECT_EQ(world.Position("DELETE " + kWorkloadTemplatesPath), 1);
  world.server.ShowOnly(Kind::kComputeDomain, world.cache);
  EXPECT_TRUE(world.Run().requeue_after);
  EXPECT_TRUE(world.server.lines().empty());
  world.server.ShowOnly(Kind::kClaimTemplate, world.cache);
  world.Run();
  EXPECT_FALSE(world.server.lines().empty());
}

TEST(Pass, StatusIsNotWrittenTwiceInAWindow) {
  PassWorld world(Converged());
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-0", "train-9");
  world.server.Put(fixtures::Store(claim));
  world.server.ShowAll(world.cache);
  world.Run();
  EXPECT_EQ(world.Writes(), (Lines{"PATCH " + kDomainPath + "/status"}));
  world.server.Remove(Kind::kClaim, claim.meta.key);
  world.server.ShowAll(world.cache);
  EXPECT_EQ(world.Run().requeue_after, milliseconds(500));
  EXPECT_TRUE(world.server.lines().empty());
  world.clock.Advance(milliseconds(500));
  EXPECT_EQ(world.Run().requeue_after, kUntilShown);
  EXPECT_EQ(world.Writes().size(), 1U);
}

TEST(Pass, StatusConflictIsARetryAndNotATale) {
  Observed observed = Converged();
  observed.domain->status = {};
  PassWorld world(observed);
  world.server.Put(fixtures::Store(*observed.domain));  // A newer version than the cache's.
  const Outcome refused = world.Run();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict) << (refused.error ? refused.error->message : "");
  EXPECT_EQ(world.Ready(), "");
  world.server.ShowAll(world.cache);
  EXPECT_FALSE(world.Run().error);
  EXPECT_TRUE(world.Ready().starts_with("AllMembersReady")) << world.Ready();
}

// ---- When it may not write.

TEST(Pass, B43_S15_ClosedGateSendsNothing) {
  for (const Observed& observed : {Fresh(), WithoutWorkloadTemplate()}) {
    PassWorld world(observed);
    world.leads = false;
    EXPECT_TRUE(world.Run().error);
    EXPECT_TRUE(world.server.lines().empty());
  }
}

TEST(Pass, B43_S15_GateThatClosesInMidPassEndsIt) {
  PassWorld world(Fresh());
  world.server.Intercept([&](const std::string&) -> std::optional<MapServer::Reply> {
    world.leads = false;  // The reply to the finalizer arrives after the term.
    return {};
  });
  EXPECT_TRUE(world.Run().error);
  EXPECT_EQ(world.server.lines(), (Lines{"PATCH " + kDomainPath}));
}

// What a domain of many nodes left behind.
Observed LabelsOf300Nodes() {
  Observed observed = Converged();
  observed.domain.reset();
  observed.children = {};
  observed.nodes.clear();
  for (int i = 0; i < 300; ++i) {
    const std::string name = "n-" + std::to_string(i);
    observed.nodes.emplace(name, fixtures::MakeNode(name));
  }
  return observed;
}

TEST(Pass, M4_B43_S15_LargeStepEndsWithTheTerm) {
  PassWorld world(LabelsOf300Nodes());
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line == "PATCH /api/v1/nodes/n-10") world.leads = false;
    return {};
  });
  EXPECT_TRUE(world.Run().error);
  EXPECT_EQ(world.Writes().back(), "PATCH /api/v1/nodes/n-10");
  EXPECT_EQ(world.Writes().size(), 3U) << "of 300 that were decided together";
}

TEST(Pass, NodeThatRefusesItsPatchLeavesTheOthersOfALargeStepAlone) {
  PassWorld world(LabelsOf300Nodes());
  world.server.Refuse("PATCH /api/v1/nodes/n-1", 403, "Forbidden");
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kForbidden);
  EXPECT_EQ(world.Writes().size(), 300U);
}

TEST(Pass, DryRunReadsAndSaysWhatItWouldDoAndWritesNothing) {
  Observed vanished = Converged();
  vanished.domain.reset();
  Observed deleted = JustDeleted();
  fixtures::EndWorkload(deleted.children.claims);
  for (const Observed& observed : {Fresh(), deleted, vanished}) {
    PassWorld world(observed);
    world.shared.SetDryRun();
    EXPECT_FALSE(world.Run().error);
    EXPECT_TRUE(world.Writes().empty());
    EXPECT_GT(world.logger.Count("Would act"), 2U);
  }
}

TEST(Pass, DryRun_LogsEachWriteOnce_AndNoRead) {
  Observed deleted = JustDeleted();
  fixtures::EndWorkload(deleted.children.claims);
  PassWorld world(deleted);
  world.shared.SetDryRun();
  EXPECT_FALSE(world.Run().error);
  EXPECT_GT(world.server.lines().size(), 0U) << "it read";
  const std::size_t told = world.logger.Count("Would act");
  EXPECT_GT(told, 2U);
  EXPECT_EQ(world.logger.Count("Would act domain=team-a/train uid=" + kUid + " action="), told);
  EXPECT_EQ(world.logger.Count("action=get "), 0U);
  EXPECT_EQ(world.logger.Count("action=list "), 0U);
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.logger.Count("Would act"), told);
}

// ---- What the CRD drops.

TEST(Pass, B59_CrdThatDropsConditionsIsNoticedAndFromThenOnLeftInPeace) {
  Observed observed = Converged();
  observed.domain->status = {};
  PassWorld world(observed);
  world.server.DropConditions();
  world.Run();
  EXPECT_EQ(world.Writes().size(), 1U);
  EXPECT_EQ(world.logger.Count("CRD drops the conditions"), 1U);
  EXPECT_LE(world.Settle(), 1);

  world.server.Put(fixtures::Store(*observed.domain));
  world.Settle();
  EXPECT_EQ(world.Domain()["status"].members().size(), 2U) << "status and nodes";
  EXPECT_EQ(world.logger.Count("CRD drops the conditions"), 1U) << "said once";
}

TEST(Pass, REV4_1_WhereTheCrdDropsMemorySharedTheLogAndAMetricSayIt) {
  const auto shared = [](const PassWorld& world) {
    return world.shared.MemorySharedOf(*world.cache.Read(kUid).domain);
  };
  Observed observed = Converged();
  EXPECT_EQ(shared(PassWorld(observed)), "True") << "as it is written";
  observed.domain->status.conditions.clear();
  PassWorld world(observed);
  world.server.DropConditions();
  world.Run();
  EXPECT_EQ(shared(world), "True") << "in the pass that noticed it";
  world.Settle();
  const std::string says = "MemoryShared domain=team-a/train uid=" + kUid + " status=";
  EXPECT_EQ(world.logger.Count(says + "True reason=AllInOneClique"), 1U);

  for (const api::ResourceClaim& claim : observed.children.claims) {
    world.server.Remove(Kind::kClaim, claim.meta.key);
  }
  world.server.ShowAll(world.cache);
  world.Settle();
  EXPECT_EQ(shared(world), "False");
  EXPECT_EQ(world.logger.Count(says + "False reason=Idle"), 1U);
  EXPECT_EQ(world.logger.Count(says), 2U) << "at each change";
}

// ---- Cliques.

TEST(Pass, B10_S5_MemberIsRemovedOnlyAfterALiveReadInTheSamePass) {
  Observed observed = fixtures::Marked();
  PassWorld world(observed);
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.ShowAll(world.cache);
  EXPECT_FALSE(world.Run().error);
  const int read = world.Position("GET /api/v1/namespaces/cdom-system/pods");
  const int write =
      world.Position("PATCH /apis/resource.nvidia.com/v1beta1/namespaces/cdom-system");
  EXPECT_GE(read, 0);
  EXPECT_GT(write, read);
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 1U);
}

TEST(Pass, B1_MemberWhosePodIsThereAfterAllStays) {
  const Observed observed = Converged();
  PassWorld world(observed);
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.ShowAll(world.cache);
  world.server.Put(fixtures::Store(observed.children.daemon_pods[1]));
  world.Run();
  EXPECT_TRUE(world.Writes().empty());
}

TEST(Pass, B3_EntryThatADaemonWroteMeanwhileIsNotLost) {
  Observed observed = Converged();
  PassWorld world(observed);
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.ShowAll(world.cache);
  // node-2 joins while the entry of node-1 is to go; the cache is behind.
  api::Clique clique = observed.children.cliques[0];
  clique.daemons.push_back(fixtures::MakeMember("node-2", 2));
  world.server.Put(fixtures::Store(clique));
  world.server.Put(fixtures::Store(fixtures::MakePod("node-2", 2)));
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-2")));
  const auto nodes = [&] {
    Lines names;
    const json::Value stored = world.server.Get(Kind::kClique, clique.meta.key);
    for (const json::Value& daemon : stored["daemons"].items()) {
      names.push_back(daemon["nodeName"].AsString());
    }
    return names;
  };
  const Outcome refused = world.Run();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict) << (refused.error ? refused.error->message : "");
  EXPECT_EQ(nodes(), (Lines{"node-0", "node-1", "node-2"}));
  world.Settle();
  EXPECT_EQ(nodes(), (Lines{"node-0", "node-2"}));
}

TEST(Pass, CopyOfADaemonPodKeepsNobodyAMember) {
  Observed observed = Converged();
  PassWorld world(observed);
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.ShowAll(world.cache);
  observed.children.daemon_pods[1].meta.owners.clear();
  world.server.Put(fixtures::Store(observed.children.daemon_pods[1]));
  world.Run();
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 1U);
}

TEST(Pass, CliqueIsMadeWithItsMembersAndStatusFollowsInTheSamePass) {
  Observed observed = fixtures::Marked();
  observed.children.cliques.clear();
  observed.domain->status = {};
  PassWorld world(observed);
  EXPECT_FALSE(world.Run().error);
  const json::Value clique = world.server.Get(Kind::kClique, {kDriverNs, kUid + "." + kCliqueId});
  EXPECT_EQ(clique["daemons"].items().size(), 2U);
  EXPECT_EQ(world.Domain()["status"]["members"].AsString(), "2/2");
  EXPECT_EQ(world.Settle(), 0);
}

TEST(Pass, Q5_CliqueThatVanishesUnderAWriteIsNoFailureOfTheDomain) {
  Observed observed = fixtures::Marked();
  observed.children.daemon_pods.push_back(fixtures::MakePod("node-2", 2));
  observed.children.daemon_pods.back().controller_writes = true;
  observed.nodes["node-2"] = fixtures::MakeNode("node-2", "");
  fixtures::AddMissingClaims(observed);
  PassWorld world(observed);
  world.server.Remove(Kind::kClique, observed.children.cliques[0].meta.key);
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.Condition("Provisioned")["status"].AsString(), "True");
  world.Settle();
  EXPECT_EQ(world.Domain()["status"]["nodes"].items().size(), 3U);
}

TEST(Pass, B33_DomainWithMembersInTwoNamespacesRests) {
  PassWorld world(fixtures::InTwoNamespaces());
  EXPECT_FALSE(world.Run().error);
  EXPECT_TRUE(world.server.lines().empty());
}

// Nodes join a domain of ours one after the other; each is ready a while after its entry is there.
class Burst {
 public:
  explicit Burst(int nodes) : nodes_(nodes) {
    world_.server.Remove(Kind::kClique, {kDriverNs, api::CliqueName(kUid, kCliqueId)});
  }

  // Until the clique shows all of them as ready; in steps of 100 ms of virtual time, with a pass
  // whenever something changed or is due.
  void Run() {
    for (int step = 0; std::ssize(shown_) < nodes_; ++step) {
      ASSERT_LT(step, 300) << "it never ends";
      if (step < nodes_) Join(step);
      for (int node = 0; node < std::min(step, nodes_); ++node) Advance(node);
      world_.server.ShowAll(world_.cache);
      ReconcilePass();
      world_.clock.Advance(kStep);
    }
  }

  std::vector<base::Clock::TimePoint> writes;
  milliseconds longest_wait{0};  // From a pod that is ready to its entry that says so.
  base::Clock::TimePoint first_join = {};

 private:
  static constexpr milliseconds kStep{100};

  static std::string NameOf(int node) { return "new-" + std::to_string(node); }

  json::Value EntryOf(int node) const {
    const json::Value clique =
        world_.server.Get(Kind::kClique, {kDriverNs, api::CliqueName(kUid, kCliqueId)});
    for (const json::Value& entry : clique["daemons"].items()) {
      if (entry["nodeName"].AsString() == NameOf(node)) return entry;
    }
    return {};
  }

  void PutPod(int node, bool ready) {
    api::DaemonPod pod = fixtures::MakePod(NameOf(node), node);
    pod.controller_writes = true;
    pod.ready = ready;
    world_.server.Put(fixtures::Store(pod));
    is_dirty_ = true;
  }

  void Join(int node) {
    if (node == 0) first_join = world_.clock.Now();
    world_.server.Put(fixtures::Store(fixtures::MakeNode(NameOf(node), "")));
    world_.server.Put(fixtures::Store(fixtures::MakeChannelClaim(NameOf(node), NameOf(node))));
    PutPod(node, false);
  }

  void Advance(int node) {
    if (EntryOf(node).IsNull() || became_ready_.contains(node)) return;
    became_ready_[node] = world_.clock.Now();
    PutPod(node, true);
  }

  void ReconcilePass() {
    const base::Clock::TimePoint now = world_.clock.Now();
    const bool is_due = due_ && *due_ <= now;
    if (!std::exchange(is_dirty_, false) && !is_due) return;
    const Outcome outcome = world_.Run();
    EXPECT_FALSE(outcome.error);
    due_.reset();
    if (outcome.requeue_after) due_ = now + *outcome.requeue_after;
    for (const std::string& line : world_.Writes()) {
      if (line.find("computedomaincliques") != std::string::npos) writes.push_back(now);
    }
    for (const auto& [node, since] : became_ready_) {
      if (shown_.contains(node) || EntryOf(node)["status"].AsString() != "Ready") continue;
      shown_.insert(node);
      longest_wait = std::max(longest_wait, std::chrono::ceil<milliseconds>(now - since));
    }
    is_dirty_ = is_dirty_ || !world_.Writes().empty();
  }

  static Observed Empty() {
    Observed observed = fixtures::Marked();
    observed.children.daemon_pods.clear();
    observed.children.cliques.clear();
    observed.children.claims.clear();
    observed.children.labelled_nodes.clear();
    observed.nodes.clear();
    observed.domain->status = {};
    return observed;
  }

  const int nodes_;
  PassWorld world_{Empty()};
  bool is_dirty_ = true;
  std::optional<base::Clock::TimePoint> due_;
  std::map<int, base::Clock::TimePoint> became_ready_;
  std::set<int> shown_;  // As ready, by the clique.
};

TEST(Pass, Q3_CliqueThatEighteenNodesJoinAtOnceIsWrittenFiveTimesAtMost) {
  Burst burst(18);
  burst.Run();
  ASSERT_FALSE(burst.writes.empty());
  EXPECT_EQ(burst.writes.front(), burst.first_join) << "the first waits for nobody";
  EXPECT_LE(burst.writes.size(), 5U);
  EXPECT_LE(burst.longest_wait, milliseconds(4000));
}

// ---- Deletion.

TEST(Pass, B21_DeletionWaitsForTheWorkloadAndTheDaemonsAndEndsWithTheFinalizer) {
  Observed observed = JustDeleted();
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  EXPECT_EQ(Children(world), 2U) << "the workload template is gone, the daemons are not";
  world.clock.Advance(seconds(5));
  EXPECT_LT(world.Settle(), 5);
  EXPECT_TRUE(world.Ready().starts_with("DeletionBlocked: Deletion waits for pods/train-0"));

  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!claim.channel_domain.empty()) world.server.Remove(Kind::kClaim, claim.meta.key);
  }
  EXPECT_LT(world.Settle(), 5);
  EXPECT_EQ(Children(world), 0U);
  EXPECT_EQ(world.server.Count(Kind::kClique), 0U);
  EXPECT_FALSE(world.Domain().IsNull()) << "the daemons' pods are still there";
  EXPECT_NE(world.Ready().find("the daemon on node-0"), std::string::npos);

  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    world.server.Remove(Kind::kDaemonPod, pod.meta.key);
  }
  for (const api::ResourceClaim& claim : observed.children.claims) {
    world.server.Remove(Kind::kClaim, claim.meta.key);
  }
  world.server.ShowAll(world.cache);
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.Writes(), (Lines{"PATCH " + kDomainPath}));
  EXPECT_TRUE(world.Domain().IsNull());
  for (const char* node : {"node-0", "node-1"}) {
    EXPECT_EQ(world.server.Get(Kind::kNode, {"", node})["metadata"]["labels"].members().size(), 0U);
  }
  world.Settle();
  EXPECT_TRUE(world.server.lines().empty());
}

TEST(Pass, R2_CachedDeletionOfADomainThatLivesIsFollowedByNoWrite) {
  PassWorld world(JustDeleted());
  world.server.Put(fixtures::Store(fixtures::MakeDomain()));
  EXPECT_FALSE(world.Run().error);
  EXPECT_TRUE(world.Writes().empty());
}

TEST(Pass, R5_ToleratedErrorOnADeleteIsNoLicence) {
  for (const int status : {404, 409}) {
    SCOPED_TRACE(status);
    Observed observed = JustDeleted();
    observed.children.claims.clear();
    observed.children.daemon_pods.clear();
    PassWorld world(observed);
    world.server.Refuse("DELETE", status, status == 404 ? "NotFound" : "Conflict");
    for (int i = 0; i < 3; ++i) {
      world.server.ShowAll(world.cache);
      EXPECT_TRUE(world.Run().error);
      world.clock.Advance(seconds(10));
    }
    EXPECT_FALSE(world.Domain().IsNull());
    EXPECT_EQ(Children(world), 3U);
  }
}

TEST(Pass, S6_ObjectThatSomebodyMadeAnewUnderTheNameOfAChildIsNotDeleted) {
  PassWorld world(JustDeleted());
  api::ResourceClaimTemplate theirs = fixtures::MakeWorkloadTemplate();
  theirs.meta.uid = "theirs";
  theirs.domain.clear();
  theirs.meta.owners.clear();
  world.server.Put(fixtures::Store(theirs));  // The cache is behind.
  EXPECT_FALSE(world.Run().error);
  EXPECT_GE(world.Position("DELETE " + kWorkloadTemplatesPath), 0);
  EXPECT_FALSE(world.server.Get(Kind::kClaimTemplate, kWorkloadKey).IsNull());
}

TEST(Pass, N1_RefusedDeleteDoesNotHoldUpTheOthersAndIsTold) {
  Observed observed = JustDeleted();
  observed.children.claims.clear();
  observed.children.daemon_pods.clear();
  PassWorld world(observed);
  world.server.Refuse("DELETE " + kDaemonSetsPath, 403, "Forbidden");
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kForbidden);
  EXPECT_EQ(Children(world), 1U);
  EXPECT_TRUE(world.Ready().starts_with("DeletionBlocked: delete DaemonSet")) << world.Ready();
  EXPECT_FALSE(world.Domain().IsNull());
  world.server.Intercept({});
  world.Settle();
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(Pass, ReadThatIsRefusedDuringADeletionIsTold) {
  Observed observed = JustDeleted();
  observed.children = {};
  observed.nodes.clear();
  PassWorld world(observed);
  world.server.Refuse("GET " + kDaemonSetsPath, 403, "Forbidden");
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kForbidden);
  EXPECT_TRUE(world.Ready().starts_with("DeletionBlocked: list what the domain left"))
      << world.Ready();
}

// When it says what it waits for, and the cache has seen nothing but the domain.
void LookAgainWithoutNews(PassWorld& world) {
  world.server.ShowOnly(Kind::kComputeDomain, world.cache);
  world.clock.Advance(seconds(10));
  EXPECT_FALSE(world.Run().error);
}

TEST(Pass, R2_ConsumerThatTheCacheHasNotSeenKeepsTheDaemons) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.nodes["node-2"] = fixtures::MakeNode("node-2", "");
  PassWorld world(observed);
  // On a node that has had nothing to do with the domain.
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "late")));
  EXPECT_FALSE(world.Run().error);
  EXPECT_FALSE(world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName}).IsNull());
  LookAgainWithoutNews(world);
  EXPECT_NE(world.Ready().find("pods/late on node-2"), std::string::npos) << world.Ready();
}

TEST(Pass, B20_DaemonPodThatTheCacheHasNotSeenKeepsTheDomain) {
  Observed observed = JustDeleted();
  observed.children = {};
  observed.nodes.clear();
  observed.nodes["node-2"] = fixtures::MakeNode("node-2", "");
  PassWorld world(observed);
  world.server.Put(fixtures::Store(fixtures::MakePod("node-2", 2)));
  EXPECT_FALSE(world.Run().error);
  EXPECT_FALSE(world.Domain().IsNull());
  LookAgainWithoutNews(world);
  EXPECT_NE(world.Ready().find("the daemon on node-2"), std::string::npos);
}

TEST(Pass, CopyOfADaemonPodDoesNotKeepTheDomain) {
  Observed observed = JustDeleted();
  observed.children = {};
  PassWorld world(observed);
  api::DaemonPod copy = fixtures::MakePod("node-0", 0);
  copy.meta.owners.clear();
  world.server.Put(fixtures::Store(copy));
  world.Settle();
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(Pass, B20_L2_PodThatNeverEndsDoesNotKeepTheDomainForEver) {
  Observed observed = JustDeleted();
  observed.children = {.daemon_pods = {fixtures::MakePod("node-0", 0)}};
  PassWorld world(observed);
  const auto began = world.clock.Now();
  while (!world.Domain().IsNull()) {
    const Outcome waits = world.Run();
    ASSERT_FALSE(waits.error);
    if (!waits.requeue_after) break;
    world.server.ShowAll(world.cache);
    world.clock.Advance(*waits.requeue_after);
  }
  EXPECT_GE(world.clock.Now() - began, std::chrono::minutes(10)) << "it waits first";
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(Pass, R5_FinalizersOfTheReferenceAreTakenOffItsChildren) {
  Observed observed = JustDeleted();
  observed.children.claims.clear();
  observed.children.daemon_pods.clear();
  observed.children.daemon_sets[0].meta.finalizers = {std::string(api::kFinalizer)};
  for (api::ResourceClaimTemplate& made : observed.children.templates) {
    made.meta.finalizers = {std::string(api::kFinalizer)};
    made.meta.owners.clear();
  }
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 8);
  EXPECT_EQ(Children(world), 0U);
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(Pass, P15_DeletionOfADomainThatWasReplacedUnderItsNameLeavesTheNewOneAlone) {
  PassWorld world(JustDeleted());
  api::ComputeDomain next = fixtures::MakeDomain();
  next.meta.uid = kOtherUid;
  world.server.Put(fixtures::Store(next));
  api::ResourceClaimTemplate made = fixtures::MakeWorkloadTemplate();
  made.domain = kOtherUid;
  made.meta.owners = {fixtures::DomainAsOwner(kOtherUid)};
  world.server.Put(fixtures::Store(made));
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.Domain()["metadata"]["uid"].AsString(), kOtherUid);
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
  EXPECT_FALSE(world.server.Get(Kind::kClaimTemplate, kWorkloadKey).IsNull());
  EXPECT_TRUE(world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName}).IsNull());
}

// ---- Live reads of large collections.

// Claims of others in the domain's namespace, before and behind the domain's own in the list.
void PutClaimsOfOthers(MapServer& server, int count) {
  for (int i = 0; i < count; ++i) {
    api::ResourceClaim claim = fixtures::MakeChannelClaim("node-9", "a-" + std::to_string(i));
    claim.channel_domain = kOtherUid;
    server.Put(fixtures::Store(claim));
  }
}

// Without anything that the cache shows, so that all is decided by live reads.
Observed DeletedAndEmpty() {
  Observed observed = JustDeleted();
  observed.children = {};
  return observed;
}

bool IsList(const std::string& line) {
  return line.starts_with("GET ") && line.find("limit=") != std::string::npos;
}

TEST(Pass, LW2_LiveReadTakesACollectionPageByPage) {
  PassWorld world(DeletedAndEmpty());
  PutClaimsOfOthers(world.server, 2000);
  std::size_t longest = 0;
  std::size_t claims = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!IsList(line)) return {};
    const auto reply = world.server.Answer({.path = line.substr(line.find('/'))});
    if (!reply) return {};
    const auto list = json::Parse(reply->body);
    const std::size_t items = list ? (*list)["items"].items().size() : 0;
    longest = std::max(longest, items);
    if (line.find("/team-a/resourceclaims?") != std::string::npos) claims += items;
    return {};
  });
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(claims, 2000U);
  EXPECT_LE(longest, 400U);
  for (const std::string& line : world.server.lines()) {
    const bool is_get_of_one = line == "GET " + kDomainPath;
    EXPECT_TRUE(IsList(line) || is_get_of_one || !line.starts_with("GET ")) << line;
  }
  world.Settle();
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(Pass, C13_ClaimsOfDaemonsAreAskedForByTheirLabelAndThoseOfTheWorkloadAreNot) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.children.templates[0].labels_claims = true;
  for (api::ResourceClaim& claim : observed.children.claims) claim.is_labelled = true;
  PassWorld world(observed);
  int of_daemons = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line.find("/resourceclaims?") == std::string::npos) return {};
    const bool has_selector = line.find("labelSelector=") != std::string::npos;
    const bool is_of_workload = line.find("/team-a/") != std::string::npos;
    EXPECT_NE(has_selector, is_of_workload) << line;
    of_daemons += is_of_workload ? 0 : 1;
    return {};
  });
  world.Settle();
  // Nobody plays the daemons: their pods and claims end now.
  for (const char* node : {"node-0", "node-1"}) {
    world.server.Remove(Kind::kDaemonPod, {kDriverNs, std::string("daemon-") + node});
    world.server.Remove(Kind::kClaim, {kDriverNs, std::string("daemon-claim-") + node});
  }
  world.Settle();
  EXPECT_TRUE(world.Domain().IsNull());
  EXPECT_GT(of_daemons, 0);
}

TEST(Pass, LW2_R2_ConsumerOnTheLastPageKeepsTheDaemons) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.nodes["node-2"] = fixtures::MakeNode("node-2", "");
  PassWorld world(observed);
  PutClaimsOfOthers(world.server, 1000);
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "z-late")));
  EXPECT_FALSE(world.Run().error);
  EXPECT_FALSE(world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName}).IsNull());
  LookAgainWithoutNews(world);
  EXPECT_NE(world.Ready().find("pods/z-late on node-2"), std::string::npos) << world.Ready();
}

TEST(Pass, LW3_R5_ListThatBreaksOffHalfWayProvesNothing) {
  const auto page = [](json::Value metadata, const char* kind) {
    return MapServer::Ok(json::Value::Object(
        {{"kind", kind}, {"metadata", std::move(metadata)}, {"items", json::Value::Array()}}));
  };
  const json::Value goes_on = json::Value::Object({{"continue", "400"}});
  for (const MapServer::Reply& reply :
       {MapServer::Fail(410, "Expired"), MapServer::Fail(503, "ServiceUnavailable"),
        page(json::Value::Object(), "Status"), page(goes_on, "ResourceClaimList")}) {
    PassWorld world(DeletedAndEmpty());
    PutClaimsOfOthers(world.server, 500);
    world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
      if (line.find("continue=") == std::string::npos) return {};
      return reply;
    });
    EXPECT_TRUE(world.Run().error);
    EXPECT_FALSE(world.Domain().IsNull());
    world.server.Intercept({});
    world.Settle();
    EXPECT_TRUE(world.Domain().IsNull());
  }
}

TEST(Pass, LW2_R5_OwnerOfWhatIsLeftIsLookedForOnEveryPage) {
  PassWorld world(Converged(), false);
  for (int i = 0; i < 500; ++i) {
    api::ComputeDomain other = fixtures::MakeDomain();
    other.meta.key.name = "a-" + std::to_string(i);
    other.meta.uid = "other-" + std::to_string(i);
    world.server.Put(fixtures::Store(other));
  }
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique, Kind::kNode}) {
    world.server.ShowOnly(kind, world.cache);
  }
  EXPECT_FALSE(world.Run().error);
  EXPECT_GE(world.Position("&continue="), 0);
  EXPECT_TRUE(world.Writes().empty());
}

TEST(Pass, R5_DomainsThatAreNotServedAreNoProofThatOneIsGone) {
  PassWorld world(Converged(), false);
  world.server.ShowOnly(Kind::kDaemonSet, world.cache);
  world.server.Refuse("/computedomains?", 404, "NotFound");
  EXPECT_EQ(CodeOf(world.Run()), ErrorCode::kUnavailable);
  EXPECT_TRUE(world.Writes().empty());
}

// ---- What a vanished domain left.

TEST(Pass, L3_WhatAVanishedDomainLeftIsRemoved) {
  Observed observed = Converged();
  observed.domain.reset();
  observed.children.daemon_sets[0].meta.finalizers = {std::string(api::kFinalizer)};
  fixtures::Delete(observed.children.templates[1].meta, {std::string(api::kFinalizer)});
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  EXPECT_EQ(Children(world), 0U);
  EXPECT_EQ(world.server.Count(Kind::kClique), 0U);
  for (const char* node : {"node-0", "node-1"}) {
    EXPECT_EQ(world.server.Get(Kind::kNode, {"", node})["metadata"]["labels"].members().size(), 0U);
  }
  world.Run();
  EXPECT_TRUE(world.server.lines().empty());
}

TEST(Pass, B41_NodeThatRefusesItsPatchHoldsUpNoOtherAndIsTriedAgain) {
  Observed observed = Converged();
  observed.domain.reset();
  PassWorld world(observed);
  const auto label_of = [&](const char* name) {
    return world.server.Get(Kind::kNode, {"", name})["metadata"]["labels"][api::kDomainLabel];
  };
  world.server.Refuse("PATCH /api/v1/nodes/node-0", 409, "Conflict");
  const Outcome refused = world.Run();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict) << (refused.error ? refused.error->message : "");
  EXPECT_EQ(label_of("node-0").AsString(), kUid);
  EXPECT_TRUE(label_of("node-1").IsNull());
  world.server.Intercept({});
  world.Settle();
  EXPECT_TRUE(label_of("node-0").IsNull());
}

TEST(Pass, N2_ChildrenOfALiveDomainSurviveACacheThatDoesNotShowIt) {
  PassWorld world(Converged(), false);
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique, Kind::kNode}) {
    world.server.ShowOnly(kind, world.cache);
  }
  EXPECT_FALSE(world.Run().error);
  EXPECT_FALSE(world.server.lines().empty()) << "it looked";
  EXPECT_TRUE(world.Writes().empty());
}

TEST(Pass, B23_LabelThatMeansAnotherDomainByNowStays) {
  Observed observed = Converged();
  observed.domain.reset();
  PassWorld world(observed);
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line != "PATCH /api/v1/nodes/node-1") return {};
    world.server.Put(fixtures::Store(fixtures::MakeNode("node-1", kOtherUid)));
    return {};
  });
  EXPECT_FALSE(world.Run().error) << "the refused test of the patch says all is well";
  const json::Value node = world.server.Get(Kind::kNode, {"", "node-1"});
  EXPECT_EQ(node["metadata"]["labels"][api::kDomainLabel].AsString(), kOtherUid);
}

// ---- Whatever happens.

// A fault of the n-th request of a lifecycle.
struct RequestFault {
  const char* name;
  bool applied;  // The request takes effect, although no reply says so.
};

// Runs one lifecycle with the fault at request `fault_at`: made, settled, deleted, its workload and
// daemons ended. Returns false if it ended before.
bool RunLifecycle(const RequestFault& fault, int fault_at) {
  SCOPED_TRACE(std::string(fault.name) + " at request " + std::to_string(fault_at));
  PassWorld world(Fresh());
  int requests = 0;
  world.server.Intercept([&](const std::string&) -> std::optional<MapServer::Reply> {
    if (++requests != fault_at) return {};
    return fault.applied ? MapServer::Reply(base::Fail(ErrorCode::kUnknownOutcome, fault.name))
                         : MapServer::Fail(503, fault.name);
  });
  EXPECT_LT(world.Settle(), 20);
  EXPECT_EQ(Children(world), 3U);
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);

  json::Value deleted = world.Domain();
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  world.server.Put({Kind::kComputeDomain, deleted});
  EXPECT_LT(world.Settle(), 20);
  EXPECT_TRUE(world.Domain().IsNull());
  EXPECT_EQ(Children(world), 0U);
  return requests >= fault_at;
}

TEST(Pass, D1_LifeThatIsStruckOnceAnywhereEndsAsOneThatIsNot) {
  for (const RequestFault& fault :
       {RequestFault{"refused", false}, RequestFault{"reply lost", true}}) {
    int fault_at = 1;
    while (RunLifecycle(fault, fault_at) && !testing::Test::HasFailure()) ++fault_at;
    EXPECT_GT(fault_at, 15) << "a sweep over nothing would be green as well";
  }
}

// ---- Labels that somebody took off.

TEST(Pass, B37_LabelThatSomebodyTookOffAChildIsPutBackAndTold) {
  const std::vector<std::pair<Kind, kube::ObjectKey>> children = {
      {Kind::kDaemonSet, {kDriverNs, kDaemonName}},
      {Kind::kClaimTemplate, {kDriverNs, kDaemonName}},
      {Kind::kClaimTemplate, {fixtures::kUserNs, fixtures::kTemplateName}},
      {Kind::kClique, {kDriverNs, fixtures::kUid + "." + fixtures::kCliqueId}}};
  for (const auto& [kind, key] : children) {
    SCOPED_TRACE(ResourceOf(kind).kind + " " + kube::ToString(key));
    PassWorld world(Converged());
    json::Value object = world.server.Get(kind, key);
    const kube::Uid uid = object["metadata"]["uid"].AsString();
    object["metadata"].Erase("labels");
    object["metadata"]["annotations"]["cdom.dev/template-hash"] = "older";
    world.server.Put({.kind = kind, .object = std::move(object)});
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    EXPECT_FALSE(outcome.error);
    ASSERT_EQ(outcome.events.size(), 1U);
    EXPECT_EQ(outcome.events[0].reason, "Repaired");
    const json::Value repaired = world.server.Get(kind, key);
    EXPECT_EQ(repaired["metadata"]["labels"][api::kDomainLabel].AsString(), fixtures::kUid);
    EXPECT_EQ(repaired["metadata"]["uid"].AsString(), uid) << "the same object";
    EXPECT_EQ(world.Ready(), "AllMembersReady: All 2/2 members are ready.");
  }
}

TEST(Pass, R6_WorkloadTemplateOfTheReferenceIsOwnedByItsDomainAfterOneWrite) {
  Observed observed = Converged();
  observed.children.templates[1].meta.owners.clear();
  PassWorld world(observed);
  world.Run();
  EXPECT_EQ(world.Writes().size(), 1U);
  const json::Value made =
      world.server.Get(Kind::kClaimTemplate, {fixtures::kUserNs, fixtures::kTemplateName});
  ASSERT_EQ(made["metadata"]["ownerReferences"].items().size(), 1U);
  EXPECT_EQ(made["metadata"]["ownerReferences"].items()[0]["uid"].AsString(), fixtures::kUid);
  world.server.ShowAll(world.cache);
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.Writes(), std::vector<std::string>());
}

TEST(Pass, B28_SecondDaemonSetIsRemovedAndTheDomainGoesOn) {
  Observed observed = Converged();
  api::DaemonSet second = fixtures::MakeDaemonSet();
  second.meta.key.name = "computedomain-daemon-x2b4";
  second.meta.uid = "second";
  fixtures::Delete(second.meta, {});
  second.meta.deleting = false;
  second.meta.finalizers = {std::string(api::kFinalizer)};
  observed.children.daemon_sets.push_back(second);
  PassWorld world(observed);
  EXPECT_LT(world.Settle(), 5);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
  EXPECT_EQ(
      world.server.Get(Kind::kDaemonSet, {kDriverNs, kDaemonName})["metadata"]["uid"].AsString(),
      "daemon-set");
}

// ---- Pods that wait.

// train-2 waits for a channel, and the scheduler has none for it.
Observed WithWaitingPod() {
  Observed observed = Converged();
  api::ResourceClaim claim = fixtures::MakeChannelClaim("", "train-2");
  claim.meta.uid = "waiting";
  claim.consumers.clear();
  claim.meta.owners = {{.api_version = "v1",
                        .kind = "Pod",
                        .name = "train-2",
                        .uid = "uid-of-train-2",
                        .controller = true}};
  observed.children.claims.push_back(claim);
  return observed;
}

void PutWaitingPod(PassWorld& world) {
  const auto pod = json::Parse(R"({"metadata": {"name": "train-2", "namespace": "team-a",
      "uid": "uid-of-train-2"}, "status": {"conditions": [{"type": "PodScheduled",
      "status": "False", "reason": "Unschedulable", "message": "cannot allocate all claims"}]}})");
  world.server.Put({.kind = Kind::kDaemonPod, .object = *pod});
}

api::ResourceClaim UnrelatedClaim() {
  api::ResourceClaim claim = fixtures::MakeChannelClaim("node-9", "other");
  claim.meta.key.ns = "team-b";
  claim.channel_domain.clear();
  return claim;
}

TEST(Pass, REV4_K19_ReadyStaysIfALiveReadShowsThatThePodRuns) {
  PassWorld world(WithWaitingPod());
  const auto pod = json::Parse(R"({"metadata": {"name": "train-2", "namespace": "team-a",
      "uid": "uid-of-train-2"}, "status": {"phase": "Running"}})");
  world.server.Put({.kind = Kind::kDaemonPod, .object = *pod});
  world.Settle();
  world.clock.Advance(std::chrono::minutes(2));
  (void)world.Run();
  EXPECT_EQ(world.Condition("Ready")["status"].AsString(), "True") << world.Conditions();
}

TEST(Pass, B29_PodThatWaitsHearsWhichClaimHasTheChannelAndAtRestNothing) {
  PassWorld world(WithWaitingPod());
  PutWaitingPod(world);
  world.server.Put(fixtures::Store(UnrelatedClaim()));
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-9", "")));
  world.server.ShowAll(world.cache);
  const Outcome outcome = world.Run();
  std::vector<std::string> told;
  for (const kube::Event& event : outcome.events) {
    told.push_back(event.reason + " of " + event.regarding.kind);
    EXPECT_NE(
        event.note.find("the channel of node-9 by a ResourceClaim in another namespace (of no"),
        std::string::npos)
        << event.note;
  }
  EXPECT_EQ(told, (std::vector<std::string>{"ChannelHeldByUnrelatedClaim of Pod",
                                            "ChannelHeldByUnrelatedClaim of ComputeDomain"}));
  for (int passes = 0; passes < 3; ++passes) {
    world.server.ShowAll(world.cache);
    world.clock.Advance(std::chrono::minutes(10));
    EXPECT_TRUE(world.Run().events.empty());
    EXPECT_NE(world.Position("GET /api/v1/namespaces/team-a/pods/train-2"), -1);
  }
}

TEST(Pass, G22_DomainThatDoesNotFitIntoItsCliqueSaysWhatIsFreeInTheCluster) {
  Observed observed = WithWaitingPod();
  observed.domain->placement = std::string(api::kPlacementClique);
  observed.children.claims.back().has_channel = false;  // It is not allocated.
  PassWorld world(observed);
  const auto put = [&](const char* name, const std::string& domain, const std::string& clique) {
    api::Node node = fixtures::MakeNode(name, domain);
    node.clique = clique;
    world.server.Put(fixtures::Store(node));
  };
  put("node-0", kUid, fixtures::kCliqueId);
  put("node-1", kUid, fixtures::kCliqueId);
  put("node-7", "", fixtures::kOtherCliqueId);
  PutWaitingPod(world);
  world.server.ShowAll(world.cache);
  const Outcome outcome = world.Run();
  EXPECT_EQ(world.Condition("InUse")["reason"].AsString(), "NoRoomInClique");
  const std::string message = world.Condition("InUse")["message"].AsString();
  EXPECT_TRUE(message.ends_with(" Free nodes by clique: " + fixtures::kOtherCliqueId + " 1 of 1, " +
                                fixtures::kCliqueId + " 0 of 2."))
      << message;
  EXPECT_EQ(outcome.events.front().reason + " of " + outcome.events.front().regarding.kind,
            "NoRoomInClique of Pod");
}

TEST(Pass, DryRunTellsWaitingPodsNothing) {
  PassWorld world(WithWaitingPod());
  PutWaitingPod(world);
  world.shared.SetDryRun();
  EXPECT_TRUE(world.Run().events.empty());
}

TEST(LiveRead, Z3_PageThatIsTooLargeIsAskedForAgainInFewerObjects) {
  Observed observed = Converged();
  const Action action = ReadClaims{.ns = kUserNs};
  ActionProgress read;
  const auto request = [&] { return RequestsOf(action, observed, read).at(0); };
  const auto fail = [&] {
    return HandleReplies(action, {base::Fail(ErrorCode::kTooLarge, "passed its bound")}, observed,
                         read);
  };
  EXPECT_NE(request().path.find("limit=400"), std::string::npos);
  for (const char* limit : {"limit=100", "limit=25", "limit=6", "limit=1"}) {
    EXPECT_EQ(request().response_bytes_max, 4U << 20);
    const ActionResult result = fail();
    EXPECT_TRUE(result.goes_on && !result.error) << limit;
    EXPECT_NE(request().path.find(limit), std::string::npos);
  }
  EXPECT_EQ(request().response_bytes_max, 16U << 20);
  EXPECT_TRUE(fail().error) << "one object cannot be smaller";
}

TEST(LiveRead, REV3_F14_WhatALabelSelectsIsAskedForWithoutALimitUntilThatIsTooMuch) {
  Observed observed = Converged();
  const Action action = ReadDaemons{};
  ActionProgress read;
  const auto first = [&] { return RequestsOf(action, observed, read).at(0).path; };
  EXPECT_EQ(first().find("limit="), std::string::npos);
  for (const char* limit : {"limit=100", "limit=100", "limit=25"}) {
    const Replies too_large(RequestsOf(action, observed, read).size(),
                            base::Fail(ErrorCode::kTooLarge, "passed its bound"));
    EXPECT_TRUE(HandleReplies(action, too_large, observed, read).goes_on);
    EXPECT_NE(first().find(limit), std::string::npos) << first();
  }
}

// What such a cache has is written over and over.
TEST(LiveRead, REV3_F3_CliquesThatWereReadReplaceThoseOfACacheThatIsBehind) {
  const Retry conflict = {.concern = Concern::kMembership, .is_conflict = true};
  const std::vector<std::tuple<const char*, bool, std::function<void(Observed&)>>> rows = {
      {"nothing is known", false, [](Observed&) {}},
      {"its watch is broken", true,
       [](Observed& o) { o.facts.views.problems[Kind::kDaemonPod] = "503 ServiceUnavailable"; }},
      {"a write was a conflict", true,
       [&](Observed& o) { o.memory.retries[ActionId()] = conflict; }},
      {"a write was refused", false,
       [](Observed& o) { o.memory.retries[ActionId()] = {.concern = Concern::kMembership}; }},
      {"status was a conflict", false, [](Observed& o) {
         o.memory.retries[ActionId()] = {.concern = Concern::kStatus, .is_conflict = true};
       }}};
  for (const auto& [what, is_behind, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Converged();
    change(observed);
    api::Clique newer = observed.children.cliques.at(0);
    newer.meta.resource_version = "9999";
    const std::string cliques =
        R"({"kind":"ComputeDomainCliqueList","metadata":{"resourceVersion":"9"},"items":[)" +
        json::Serialize(fixtures::Store(newer).object) + "]}";
    const std::string pods = R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]})";
    ActionProgress read;
    Replies replies;
    for (const http::Request& request : RequestsOf(ReadDaemons{}, observed, read)) {
      const bool of_cliques = request.path.find("computedomaincliques") != std::string::npos;
      replies.emplace_back(http::Response{.status = 200, .body = of_cliques ? cliques : pods});
    }
    const ActionResult result = HandleReplies(ReadDaemons{}, replies, observed, read);
    EXPECT_TRUE(result.decide_again && !result.error);
    observed = Learn(observed, result.findings);
    ASSERT_FALSE(observed.children.cliques.empty());
    EXPECT_EQ(observed.children.cliques[0].meta.resource_version == "9999", is_behind);
  }
}

TEST(Writes, REV3_F18_PatchOfANodeIsAnsweredByItsMetadataAlone) {
  const Observed observed = Converged();
  for (const Action& action :
       {Action(RemoveNodeLabel{.node = "node-0", .domain_uid = fixtures::kUid}),
        Action(RestoreNodeLabel{.node = "node-0", .domain_uid = fixtures::kUid})}) {
    EXPECT_NE(RequestsOf(action, observed).at(0).accept.find("as=PartialObjectMetadata;"),
              std::string::npos);
  }
}

TEST(Writes, B24_LabelIsTakenOnlyFromTheNodeThatWasSeen) {
  const auto body = [](const char* version) {
    const RemoveNodeLabel remove = {
        .node = "node-0", .domain_uid = fixtures::kUid, .version = version};
    return RequestsOf(Action(remove), Converged()).at(0).body;
  };
  EXPECT_NE(body("77").find(R"({"op":"replace","path":"/metadata/resourceVersion","value":"77"})"),
            std::string::npos);
  EXPECT_EQ(body("").find("resourceVersion"), std::string::npos) << "the domain ends";
}

// What a tenant may store in an object, and the API server hands out as it is.
const char* const kHostileParameters[] = {R"({"x":"\ud800"})", R"({"x":")"
                                                               "\xff\xfe"
                                                               R"("})"};

TEST(LiveRead, Z1_ClaimThatATenantMadeUnreadableHidesNoOther) {
  std::vector<std::string> parameters = {
      kHostileParameters[0], kHostileParameters[1],
      R"({"x":)" + std::string(600, '[') + std::string(600, ']') + "}"};
  for (const std::string& hostile : parameters) {
    Observed observed = Converged();
    ActionProgress read;
    const std::string body =
        R"({"kind":"ResourceClaimList","apiVersion":"resource.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[)"
        R"({"metadata":{"name":"bad","namespace":"team-a","uid":"u1","resourceVersion":"1"},"spec":{"devices":{"config":[{"opaque":{"driver":"x","parameters":)" +
        hostile + R"(}}]}}},)" +
        json::Serialize(fixtures::Store(observed.children.claims[0]).object) + "]}";
    const ActionResult result = HandleReplies(
        ReadClaims{.ns = kUserNs}, {http::Response{.status = 200, .body = body}}, observed, read);
    EXPECT_FALSE(result.error) << result.error->message;
    observed = Learn(observed, result.findings);
    ASSERT_TRUE(observed.evidence.claims);
    EXPECT_EQ(observed.evidence.claims->size(), 1U);
  }
}

}  // namespace
}  // namespace compute_domain

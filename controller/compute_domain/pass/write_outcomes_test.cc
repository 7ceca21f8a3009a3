// A write ends in one of three ways: done, not done, or unknown; and of one that is unknown nothing
// is concluded before its object was read again.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/domain_maker.h"
#include "test/fixtures/nvidia_permissions.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kUid;
using fixtures::MapServer;
using fixtures::PassWorld;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::chrono::hours kDay{24};
const kube::ObjectKey kCliqueKey = {fixtures::kDriverNs, kUid + "." + fixtures::kCliqueId};

const auto kLost = base::Fail(base::ErrorCode::kUnknownOutcome, "no reply within 30 s");

std::string LabelOf(const PassWorld& world, const std::string& node) {
  return world.server.Get(Kind::kNode, {.name = node})["metadata"]["labels"][api::kDomainLabel]
      .AsString();
}

void TakeLabelOff(PassWorld& world, const std::string& name) {
  json::Value node = world.server.Get(Kind::kNode, {.name = name});
  node["metadata"]["labels"].Erase(std::string(api::kDomainLabel));
  world.server.Put({Kind::kNode, node});
}

// The next pod is prepared just before the label goes: its plugin found it there.
TEST(WriteOutcomes, REV3_F5_LostReplyOfALabelRemovalIsLookedAtAgain) {
  for (const bool is_lost : {false, true}) {
    const Observed observed = Converged();
    PassWorld world(observed);
    const api::ResourceClaim claim = observed.children.claims[1];
    world.server.Remove(Kind::kClaim, claim.meta.key);  // The job on node-1 has ended.
    bool has_failed = false;
    world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
      if (line != "PATCH /api/v1/nodes/node-1" || has_failed) return {};
      has_failed = true;
      TakeLabelOff(world, "node-1");
      world.server.Put(fixtures::Store(claim));
      if (is_lost) return kLost;
      return MapServer::Ok(world.server.Get(Kind::kNode, {.name = "node-1"}));
    });
    for (int i = 0; i < 4 && !has_failed; ++i) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      world.clock.Advance(seconds(20));
    }
    ASSERT_TRUE(has_failed);
    world.server.ShowAll(world.cache);
    (void)world.Run();
    EXPECT_EQ(LabelOf(world, "node-1"), kUid) << (is_lost ? "reply lost" : "reply came");
  }
}

// The process that took the label off has ended, and nothing is remembered.
TEST(WriteOutcomes, REV3_F5_NodeThatPodsUseWithoutItsLabelGetsItAfterAMinute) {
  PassWorld world(Converged());
  TakeLabelOff(world, "node-1");
  world.server.ShowAll(world.cache);
  const Outcome first = world.Run();
  EXPECT_EQ(LabelOf(world, "node-1"), "") << "its plugin may be about to";
  ASSERT_TRUE(first.requeue_after);
  EXPECT_LE(*first.requeue_after, minutes(1));
  world.clock.Advance(minutes(1));
  (void)world.Run();
  EXPECT_EQ(LabelOf(world, "node-1"), kUid);
}

TEST(WriteOutcomes, REV3_F5_NodeOfAnotherDomainIsLeftAlone) {
  PassWorld world(Converged());
  json::Value node = world.server.Get(Kind::kNode, {.name = "node-1"});
  node["metadata"]["labels"][std::string(api::kDomainLabel)] = "another";
  world.server.Put({Kind::kNode, node});
  for (int i = 0; i < 5; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    world.clock.Advance(minutes(1));
  }
  EXPECT_EQ(LabelOf(world, "node-1"), "another");
}

// Returns how many requests of the last pass are about ComputeDomains.
std::ptrdiff_t RequestsForDomains(const PassWorld& world) {
  return std::ranges::count_if(world.server.lines(), [](const std::string& line) {
    return line.find("/computedomains/") != std::string::npos;
  });
}

// The cache still shows a domain that is deleted.
TEST(WriteOutcomes, StatusOfADeletedDomainIsNotTriedAgain) {
  for (const bool may_patch : {true, false}) {
    SCOPED_TRACE(may_patch);
    Observed observed = Converged();
    observed.domain->status = {};
    PassWorld world(observed);
    world.server.Remove(Kind::kComputeDomain, observed.domain->meta.key);
    if (!may_patch) {
      world.server.Refuse("PATCH", 403, "Forbidden",
                          fixtures::ForbiddenMessage({"patch", "computedomains/status"}));
    }
    const Outcome outcome = world.Run();
    EXPECT_EQ(RequestsForDomains(world), 2) << "PATCH and GET";
    EXPECT_FALSE(outcome.error);
    EXPECT_FALSE(outcome.is_failing);
  }
}

// Such a server answers as if the domain were deleted.
TEST(WriteOutcomes, StatusIsTriedAgainIfTheServerLacksTheSubresource) {
  Observed observed = Converged();
  observed.domain->status = {};
  PassWorld world(observed);
  const std::string& name = observed.domain->meta.key.name;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.ends_with("/status")) return {};
    return MapServer::NotFound("computedomains", name);
  });
  const Outcome first = world.Run();
  EXPECT_EQ(RequestsForDomains(world), 3) << "PATCH, GET and PUT";
  EXPECT_TRUE(first.error);
  EXPECT_TRUE(first.is_failing);
  std::size_t later = 0;
  for (const auto end = world.clock.Now() + seconds(5); world.clock.Now() < end;) {
    world.clock.Advance(seconds(1));
    (void)world.Run();
    later += world.server.lines().size();
  }
  EXPECT_GT(later, 3U);
}

// Both daemons are outdated, and may be replaced under a job.
Observed WithRolloutUnderJobs() {
  Observed observed = Converged();
  observed.facts.settings.Edit().rollout.policy = RolloutPolicy::kAlways;
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = HashChildren(observed).daemon_set;
  set.template_generation = set.meta.generation = 2;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
  return observed;
}

constexpr const char* kDeletePod = "DELETE /api/v1/namespaces/cdom-system/pods/";

TEST(WriteOutcomes, REV3_F7_LostReplyOfAReplacementKeepsItsPlace) {
  PassWorld world(WithRolloutUnderJobs());
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with(kDeletePod)) return {};
    world.server.Remove(Kind::kDaemonPod, {"cdom-system", line.substr(line.rfind('/') + 1)});
    return kLost;
  });
  (void)world.Run();
  EXPECT_EQ(world.shared.Gather(kUid).memory.replacements.size(), 1U);
}

// The server failed before it did anything.
TEST(WriteOutcomes, REV3_F7_ReplacementThatWasNotDoneAfterAllIsDoneAgain) {
  PassWorld world(WithRolloutUnderJobs());
  int tries = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with(kDeletePod) || ++tries > 1) return {};
    return kLost;
  });
  for (int i = 0; i < 3; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
  }
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(world.server.Count(Kind::kDaemonPod), 1U);
}

TEST(WriteOutcomes, REV3_F7_RefusedReplacementFreesItsPlace) {
  PassWorld world(WithRolloutUnderJobs());
  world.server.Refuse(kDeletePod, 409, "Conflict");
  (void)world.Run();
  EXPECT_EQ(world.shared.Gather(kUid).memory.replacements.size(), 0U);
}

TEST(WriteOutcomes, REV4_K7_ReplacementAnswered504WithRetryAfterKeepsItsPlace) {
  PassWorld world(WithRolloutUnderJobs());
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with(kDeletePod)) return {};
    world.server.Remove(Kind::kDaemonPod, {"cdom-system", line.substr(line.rfind('/') + 1)});
    return http::Response{
        .status = 504, .body = "upstream request timeout", .retry_after = seconds(1)};
  });
  (void)world.Run();
  EXPECT_EQ(world.shared.Gather(kUid).memory.replacements.size(), 1U);
}

// A 409 does not say whether the pod is deleted, and then the read does not either.
TEST(WriteOutcomes, REV4_K1_ReplacementAnswered409KeepsItsPlaceWhilePodsCannotBeRead) {
  PassWorld world(WithRolloutUnderJobs());
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line.starts_with(kDeletePod)) return MapServer::Fail(409, "Conflict");
    const bool is_look = line.find("metadata.name") != std::string::npos;
    return is_look ? std::optional<MapServer::Reply>(MapServer::Fail(500, "InternalError"))
                   : std::nullopt;
  });
  (void)world.Run();
  EXPECT_EQ(world.shared.Gather(kUid).memory.replacements.size(), 1U);
}

TEST(WriteOutcomes, REV3_F6_RolloutThatWaitsForItsTurnSendsNothing) {
  Observed observed = WithRolloutUnderJobs();
  observed.facts.settings.Edit().rollout.cliques_max = 0;  // As if others had all the places.
  PassWorld world(observed);
  std::size_t requests = 0;
  int passes = 0;
  for (const auto end = world.clock.Now() + seconds(300); world.clock.Now() < end; ++passes) {
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    requests += world.server.lines().size();
    EXPECT_EQ(outcome.wake, "") << "there is no room";
    if (!outcome.requeue_after) break;
    world.clock.Advance(*outcome.requeue_after);
  }
  EXPECT_LE(requests, 1U) << "status says what is outdated";
  EXPECT_LE(passes, 3);
}

// One clique of the cluster at a time. The replacement of the first domain is refused, so its place
// is free again.
TEST(WriteOutcomes, REV3_F6_DomainsGetTheirTurnInTheOrderInWhichTheyAsked) {
  Observed observed = WithRolloutUnderJobs();
  observed.facts.settings.Edit().rollout.cliques_max = 1;
  PassWorld world(observed);
  std::vector<std::string> others;
  for (const int number : {3, 1, 2}) {
    const fixtures::DomainMaker other(number, "team-b");
    world.server.PutAll(other.All(observed));
    others.push_back(other.uid());
  }
  world.server.Refuse(kDeletePod, 503, "ServiceUnavailable");
  const auto run = [&](const kube::Uid& uid) {
    world.server.ShowAll(world.cache);
    return world.Run(uid);
  };
  (void)run(kUid);
  for (const std::string& other : others) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run(other).wake, "");
  }
  world.server.Refuse(kDeletePod, 409, "Conflict");
  world.clock.Advance(minutes(1));
  std::vector<std::string> woken = {run(kUid).wake};
  while (woken.size() < others.size()) woken.push_back(run(woken.back()).wake);
  EXPECT_EQ(woken, others);
}

// ---- A reply that did not come from the API server ends no write.

const MapServer::Reply kPageOfAProxy =
    http::Response{.status = 404, .body = "<html>default backend - 404</html>"};

// Answers the first requests whose lines begin with `verb` and contain `part` with `reply`, and
// does nothing. Status writes are served.
void AnswerFirst(PassWorld& world, int times, const std::string& verb, const std::string& part,
                 const MapServer::Reply& reply, int& answered) {
  world.server.Intercept(
      [=, &answered](const std::string& line) -> std::optional<MapServer::Reply> {
        const bool is_it = line.starts_with(verb) && line.find(part) != std::string::npos &&
                           !line.ends_with("/status");
        if (!is_it || answered == times) return {};
        ++answered;
        return reply;
      });
}

// A domain without members, as after its job, that is deleted.
Observed IdleAndDeleted() {
  Observed observed = fixtures::JustDeleted();
  observed.domain->status.nodes.clear();
  observed.domain->status.cliques.clear();
  observed.domain->status.members = "0/0";
  for (auto& [name, node] : observed.nodes) node.domain.clear();
  observed.children.labelled_nodes.clear();
  observed.children.daemon_pods.clear();
  observed.children.claims.clear();
  observed.children.cliques.clear();
  return observed;
}

TEST(WriteOutcomes, REV4_K1_ReleaseOfTheFinalizerAnsweredByAProxyIsTriedAgain) {
  Observed observed = IdleAndDeleted();
  observed.children = {};
  PassWorld world(observed);
  int answered = 0;
  AnswerFirst(world, 1, "PATCH", "/computedomains/train", kPageOfAProxy, answered);
  world.Drive(kDay);
  EXPECT_EQ(answered, 1);
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(WriteOutcomes, REV4_K1_DeletesAnsweredByAProxyAreTriedAgain) {
  PassWorld world(IdleAndDeleted());
  int answered = 0;
  AnswerFirst(world, 3, "DELETE", "/", kPageOfAProxy, answered);
  world.Drive(kDay);
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U);
  EXPECT_TRUE(world.Domain().IsNull());
}

// Without an index its daemon never starts IMEX.
TEST(WriteOutcomes, REV4_K1_NodeJoinsAlthoughAProxyAnsweredForItsClique) {
  PassWorld world(fixtures::Marked());
  api::DaemonPod pod = fixtures::MakePod("node-2", 2);
  pod.controller_writes = true;
  pod.ready = false;
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-2")));
  world.server.Put(fixtures::Store(pod));
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "train-2")));
  int answered = 0;
  AnswerFirst(world, 1, "PATCH", "/computedomaincliques/", kPageOfAProxy, answered);
  world.Drive(kDay);
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(world.server.Get(Kind::kClique, kCliqueKey)["daemons"].items().size(), 3U);
}

// By a server of the other version, in an upgrade of the control plane.
TEST(WriteOutcomes, REV4_K1_DeletesAnswered404WithoutANameAreTriedAgain) {
  PassWorld world(IdleAndDeleted());
  int answered = 0;
  AnswerFirst(world, 3, "DELETE", "/", MapServer::Fail(404, "NotFound"), answered);
  world.Drive(kDay);
  EXPECT_EQ(answered, 3);
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(WriteOutcomes, REV4_K1_DeleteRefusedWith409ByAWebhookIsToldAndTriedAgain) {
  PassWorld world(IdleAndDeleted());
  int refused = 0;
  AnswerFirst(world, 1'000, "DELETE", "/daemonsets/",
              MapServer::Fail(409, "Conflict", "admission webhook \"w\" denied it: not now"),
              refused);
  world.Drive(std::chrono::hours(1));
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 1'000);
  EXPECT_NE(world.Ready().find("not now"), std::string::npos) << world.Ready();
  world.server.Intercept({});
  world.Drive(kDay);
  EXPECT_TRUE(world.Domain().IsNull());
}

TEST(WriteOutcomes, REV4_K1_PatchRefusedWith409ByAWebhookIsPacedToldAndTriedAgain) {
  Observed observed = fixtures::Converged();
  observed.domain->meta.finalizers.clear();
  PassWorld world(observed);
  std::deque<base::Clock::TimePoint> last_minute;
  int refused = 0;
  std::size_t most = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with("PATCH") || !line.ends_with("/computedomains/train")) return {};
    ++refused;
    last_minute.push_back(world.clock.Now());
    while (world.clock.Now() - last_minute.front() >= std::chrono::minutes(1)) {
      last_minute.pop_front();
    }
    most = std::max(most, last_minute.size());
    return MapServer::Fail(409, "Conflict", "admission webhook \"w\" denied it: not now");
  });
  world.Drive(std::chrono::hours(1));
  EXPECT_GT(refused, 10);
  EXPECT_LE(most, 20U);
  EXPECT_NE(world.Conditions().find("not now"), std::string::npos) << world.Conditions();
  world.server.Intercept({});
  world.Drive(std::chrono::hours(1));
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
}

// The DaemonSet was deleted and created again meanwhile: nothing is left to delete.
TEST(WriteOutcomes, REV4_K1_DeleteAnswered409IsDoneIfTheNameHasAnotherUid) {
  PassWorld world(IdleAndDeleted());
  const kube::ObjectKey key = {"cdom-system", fixtures::kDaemonName};
  int conflicts = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (!line.starts_with("DELETE") || line.find("/daemonsets/") == std::string::npos) return {};
    if (conflicts++ > 0) return {};
    json::Value other = world.server.Get(Kind::kDaemonSet, key);
    other["metadata"]["uid"] = "another";
    other["metadata"]["labels"].Erase(std::string(api::kDomainLabel));
    world.server.Put({Kind::kDaemonSet, other});
    return MapServer::Fail(409, "Conflict", "the UID in the precondition does not match");
  });
  world.Drive(kDay);
  EXPECT_EQ(conflicts, 1);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U) << "it is not the domain's";
  EXPECT_TRUE(world.Domain().IsNull());
}

// Plugins release pods on nodes that the clique lists as ready.
TEST(WriteOutcomes, REV4_K1_LossOfReadinessAnsweredByAProxyIsWrittenAgain) {
  const Observed observed = fixtures::Marked();
  PassWorld world(observed);
  api::DaemonPod pod = observed.children.daemon_pods[1];
  pod.ready = false;
  world.server.Put(fixtures::Store(pod));
  int answered = 0;
  AnswerFirst(world, 1, "PATCH", "/computedomaincliques/", kPageOfAProxy, answered);
  world.Drive(kDay);
  EXPECT_EQ(answered, 1);
  const json::Value clique = world.server.Get(Kind::kClique, kCliqueKey);
  EXPECT_EQ(clique["daemons"].items()[1]["status"].AsString(), "NotReady");
}

TEST(WriteOutcomes, REV4_K1_PersistentPagesOfAProxyAreTold) {
  PassWorld world(fixtures::Fresh());
  int answered = 0;
  AnswerFirst(world, 1'000, "POST", "/daemonsets", kPageOfAProxy, answered);
  world.Drive(std::chrono::hours(1));
  EXPECT_NE(world.Ready().find("A proxy between"), std::string::npos) << world.Ready();
}

// The cache never shows what a write has done, because its watch hangs.
TEST(WriteOutcomes, REV4_K1_PassThatWaitsForTheCacheComesBackByItself) {
  PassWorld world(fixtures::Fresh());
  const Outcome outcome = world.Run();
  ASSERT_FALSE(outcome.error);
  ASSERT_FALSE(world.Writes().empty());
  ASSERT_TRUE(outcome.requeue_after);
  EXPECT_LE(*outcome.requeue_after, seconds(10));
}

// ---- A CRD that is deleted takes its objects with it.

// The API server does not serve cliques: a list is a 404 in plain text, and `listed` says whether
// discovery lists them.
void DeleteCrdOfCliques(PassWorld& world, bool listed) {
  world.server.Intercept([listed](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line.find("/computedomaincliques") != std::string::npos) {
      return http::Response{.status = 404, .body = "404 page not found\n"};
    }
    if (listed || line != "GET /apis/resource.nvidia.com/v1beta1") return {};
    return http::Response{.status = 200,
                          .body = R"({"kind":"APIResourceList","resources":[)"
                                  R"({"name":"computedomains"}]})"};
  });
}

TEST(WriteOutcomes, REV4_E4_DeletionDoesNotWaitForAKindThatDiscoveryNoLongerLists) {
  PassWorld world(IdleAndDeleted());
  DeleteCrdOfCliques(world, false);
  world.Drive(kDay);
  EXPECT_TRUE(world.Domain().IsNull()) << world.Conditions();
}

TEST(WriteOutcomes, REV4_E4_DeletionWaitsForAKindThatDiscoveryLists) {
  PassWorld world(IdleAndDeleted());
  DeleteCrdOfCliques(world, true);
  world.Drive(std::chrono::hours(1));
  EXPECT_FALSE(world.Domain().IsNull()) << "a 404 alone proves nothing";
}

}  // namespace
}  // namespace compute_domain

// A write ends in one of three ways: done, not done, or unknown; and of one that is unknown nothing
// is concluded before its object was read again.
#include <gtest/gtest.h>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/domain_maker.h"
#include "test/fixtures/nvidias_rights.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kUid;
using fixtures::MapServer;
using fixtures::PassWorld;
using std::chrono::minutes;
using std::chrono::seconds;

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
    EXPECT_EQ(world.server.lines().size(), 2U) << "PATCH and GET";
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
    return MapServer::NotFound(name);
  });
  const Outcome first = world.Run();
  EXPECT_EQ(world.server.lines().size(), 3U) << "PATCH, GET and PUT";
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
  observed.facts.rollout.policy = RolloutPolicy::kAlways;
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
  EXPECT_EQ(world.reconciler.Gather(kUid).memory.replacements.size(), 1U);
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
  EXPECT_EQ(world.reconciler.Gather(kUid).memory.replacements.size(), 0U);
}

TEST(WriteOutcomes, REV3_F6_RolloutThatWaitsForItsTurnSendsNothing) {
  Observed observed = WithRolloutUnderJobs();
  observed.facts.rollout.cliques_max = 0;  // As if others had all the places.
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
  observed.facts.rollout.cliques_max = 1;
  PassWorld world(observed);
  std::vector<std::string> others;
  for (const int number : {3, 1, 2}) {
    const fixtures::DomainMaker other(number, "team-b");
    world.server.PutAll(other.All(observed));
    others.push_back(other.uid());
  }
  world.server.Refuse(kDeletePod, 503, "ServiceUnavailable");
  const auto run = [&](const std::string& uid) {
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

}  // namespace
}  // namespace compute_domain

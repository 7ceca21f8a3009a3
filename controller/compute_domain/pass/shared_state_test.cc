#include "controller/compute_domain/pass/shared_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::kUid;
using fixtures::PassWorld;
using std::chrono::minutes;
using std::chrono::seconds;

class SharedStateTest : public testing::Test {
 protected:
  Facts FactsNow() const { return state_.Gather(kUid).facts; }

  PassWorld world_{fixtures::Marked()};
  SharedState& state_ = world_.shared;
};

TEST_F(SharedStateTest, Snapshot_HasWhatCacheShows_AndPassesLearned) {
  Observed observed = state_.Gather(kUid);
  EXPECT_EQ(observed.uid, kUid);
  EXPECT_EQ(observed.domain->meta.key.name, "train");
  EXPECT_EQ(observed.children.daemon_pods.size(), 2U);
  EXPECT_FALSE(observed.memory.rendered.daemon_set.empty()) << "memory is brought up to date";
  EXPECT_FALSE(state_.Gather("another").domain);
  Remembered remembered;
  remembered.memory.memory_shared = "False";
  state_.memories().Keep(kUid, std::move(remembered));
  EXPECT_EQ(state_.Gather(kUid).memory.memory_shared, "False");
  EXPECT_EQ(state_.Gather("another").memory.memory_shared, "");
}

TEST_F(SharedStateTest, KindThatIsNotServed_HasNoObjects) {
  EXPECT_EQ(state_.Gather(kUid).children.cliques.size(), 1U);
  state_.SetViews({.cliques_are_served = false});
  EXPECT_EQ(state_.Gather(kUid).children.cliques.size(), 0U);
  state_.SetViews({});
  EXPECT_EQ(state_.Gather(kUid).children.cliques.size(), 1U);
}

TEST_F(SharedStateTest, FactsAreThoseOfEachPart) {
  state_.SetUser("system:serviceaccount:cdom-system:cdom-controller");
  EXPECT_EQ(FactsNow().cluster.user, "system:serviceaccount:cdom-system:cdom-controller");
  EXPECT_EQ(FactsNow().cluster.rollout_stopped, "");
  EXPECT_TRUE(FactsNow().cluster.rollout_has_room);
  state_.rollout().StopOrResume(kUid, "team-a/train", "The daemon on node-0");
  state_.rollout().Hold("another", 1000);
  EXPECT_EQ(FactsNow().cluster.rollout_stopped, "The daemon on node-0");
  EXPECT_FALSE(FactsNow().cluster.rollout_has_room);
}

TEST_F(SharedStateTest, SetPlacement_ReturnsWhetherItIsNews) {
  EXPECT_FALSE(state_.SetPlacement(PlacementPolicy::kUnknown));
  EXPECT_TRUE(state_.SetPlacement(PlacementPolicy::kMissing));
  EXPECT_FALSE(state_.SetPlacement(PlacementPolicy::kMissing));
  EXPECT_EQ(FactsNow().cluster.placement, PlacementPolicy::kMissing);
}

TEST_F(SharedStateTest, CountOfGpus_IsOld_BeforeTheFirst_AndFiveMinutesAfterOne) {
  EXPECT_TRUE(FactsNow().cluster.gpus.is_old);
  state_.SetGpus(std::make_shared<const api::GpusByNode>());
  EXPECT_FALSE(FactsNow().cluster.gpus.is_old);
  world_.clock.Advance(minutes(5) - seconds(1));
  EXPECT_FALSE(FactsNow().cluster.gpus.is_old);
  world_.clock.Advance(seconds(1));
  EXPECT_TRUE(FactsNow().cluster.gpus.is_old);
  EXPECT_NE(FactsNow().cluster.gpus.by_node, nullptr) << "kept until the next";
}

TEST_F(SharedStateTest, NameThatIsTaken_IsEvidence_UntilItsRetryIsDue) {
  const kube::ObjectKey key = {fixtures::kUserNs, fixtures::kTemplateName};
  const auto is_known = [&] {
    return state_.Gather(kUid).evidence.NameOf(Kind::kClaimTemplate, key).is;
  };
  EXPECT_EQ(is_known(), NameCheck::Is::kNotAsked);
  Remembered remembered;
  Retry& retry = remembered.memory.retries[ActionId{.kind = Kind::kClaimTemplate, .key = key}];
  retry.until = world_.clock.Now() + seconds(10);
  retry.taken = std::make_shared<const NameTaken>(
      NameTaken{.kind = Kind::kClaimTemplate, .key = key, .holder = {.domain = "another"}});
  state_.memories().Keep(kUid, std::move(remembered));
  EXPECT_EQ(is_known(), NameCheck::Is::kFound);
  world_.clock.Advance(seconds(10));
  EXPECT_EQ(is_known(), NameCheck::Is::kNotAsked);
}

TEST_F(SharedStateTest, MemoryShared_IsThatOfStatus_OrElseOfThePassBefore) {
  api::ComputeDomain domain = fixtures::MakeDomain();
  domain.status.conditions = {{.type = "MemoryShared", .status = "True"}};
  EXPECT_EQ(state_.MemorySharedOf(domain), "True");
  domain.status.conditions.clear();
  EXPECT_EQ(state_.MemorySharedOf(domain), "") << "nothing is known";
  Remembered remembered;
  remembered.memory.memory_shared = "Unknown";
  state_.memories().Keep(kUid, std::move(remembered));
  EXPECT_EQ(state_.MemorySharedOf(domain), "Unknown");
}

TEST_F(SharedStateTest, Surveys_AreMadeOnlyForADomainWhosePodsLackAChannel) {
  EXPECT_TRUE(state_.Gather(kUid).others.surveys.empty());
  Observed waits = fixtures::Marked();
  waits.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
  PassWorld world(waits);
  EXPECT_TRUE(world.shared.Gather(kUid).others.surveys.empty()) << "the scheduler has not said so";
  Remembered remembered;
  remembered.memory.scheduler_messages["train-2"] = "0/2 nodes: cannot allocate all claims.";
  world.shared.memories().Keep(kUid, std::move(remembered));
  EXPECT_EQ(world.shared.Gather(kUid).others.surveys.size(), 1U);
}

}  // namespace
}  // namespace compute_domain

#include "test/simulation/scenarios/replica.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "test/simulation/cluster/peers.h"

namespace simulation {
namespace {

// A controller alone with a domain that is to get its children.
struct World {
  explicit World(const ReplicaOptions& options = {})
      : replica(cluster.server(), options,
                [this](const http::Request& request) { return Serve(request); }) {
    cluster.AddNamespace("train");
    cluster.CreateDomain({.ns = "train", .name = "job"}, "channel");
  }

  base::Result<http::Response> Serve(const http::Request& request) {
    const bool is_lease = request.path.find("/leases") != std::string::npos;
    if (request.method != http::Method::kGet && !is_lease) ++writes;
    if (request.path.find("/events") != std::string::npos && on_event) on_event();
    return cluster.server().Handle("controller-1", request);
  }

  // Until it has sent that many writes, renewals of the Lease apart; false if it rests before.
  bool RunToWrite(int count) {
    while (writes < count) {
      if (!replica.Step()) return false;
    }
    return true;
  }
  void RunToRest() {
    while (replica.Step()) {
    }
  }

  Cluster cluster;
  int writes = 0;
  std::function<void()> on_event = {};
  Replica replica;
};

// Stops the process behind any of its writes for longer than a term lasts without renewal. It must
// not go on with what it had in hand. Returns how many writes there are.
int ExpectNoWriteAfterTheTerm(const std::function<void(World&)>& prepare) {
  int count = 1;
  for (;; ++count) {
    SCOPED_TRACE("frozen after write " + std::to_string(count));
    World world;
    prepare(world);
    if (!world.RunToWrite(count)) break;
    for (int minute = 0; minute < 5; ++minute) {
      world.cluster.Advance(std::chrono::minutes(1));
      world.RunToRest();
    }
    EXPECT_EQ(world.writes, count);
  }
  return count - 1;
}

TEST(Replica, S15_F18_AfterItsTermAFrozenPassStartsNoFurtherWrite) {
  EXPECT_GE(ExpectNoWriteAfterTheTerm([](World& /*world*/) {}), 5);
}

TEST(Replica, REV4_K13_AfterItsTermAFrozenProcessSendsNoEvent) {
  int events = 0;
  const int writes = ExpectNoWriteAfterTheTerm([&events](World& world) {
    world.cluster.store().Edit(
        "user", Kind::kComputeDomain, {.ns = "train", .name = "job"}, [](json::Value& domain) {
          domain["metadata"]["annotations"]["cdom.dev/no-such-annotation"] = "yes";
        });
    world.on_event = [&events] { ++events; };
  });
  EXPECT_GT(writes, 5);
  EXPECT_GT(events, 0) << "none is lost with its term";
}

// Whether, once an object of the kind has changed over and over and nothing moves any more, some of
// that is still on its way.
bool IsLate(Kind kind, const ReplicaOptions& options) {
  World world(options);
  world.cluster.AddNode("node-0", "");
  for (int second = 0; second < 30; ++second) {
    world.cluster.Advance(std::chrono::seconds(1));
    world.RunToRest();
  }
  EXPECT_TRUE(world.replica.IsAtRest(world.cluster.now()));
  const kube::ObjectKey key = world.cluster.store().Live(kind).begin()->first;
  for (int i = 0; i < 20; ++i) {
    world.cluster.store().Edit("user", kind, key, [&](json::Value& object) {
      object["metadata"]["annotations"]["edited"] = std::to_string(i);
    });
  }
  world.RunToRest();
  return !world.replica.IsAtRest(world.cluster.now());
}

TEST(Replica, F9_InMixedOrderItsKindsAreBehindOneAnother) {
  int apart = 0;
  int late = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const bool nodes = IsLate(Kind::kNode, {.mixed = true, .seed = seed});
    const bool domains = IsLate(Kind::kComputeDomain, {.mixed = true, .seed = seed});
    late += nodes ? 1 : 0;
    apart += nodes != domains ? 1 : 0;
    EXPECT_FALSE(IsLate(Kind::kNode, {.seed = seed}));
  }
  EXPECT_GT(late, 0);
  EXPECT_LT(late, 16);
  EXPECT_GT(apart, 0);
}

}  // namespace
}  // namespace simulation

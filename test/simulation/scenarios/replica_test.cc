#include "test/simulation/scenarios/replica.h"

#include <gtest/gtest.h>

#include <chrono>

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
  Replica replica;
};

// F18: stopped behind any of its writes for longer than a term lasts without renewal, the process
// goes on with what it had in hand.
TEST(Replica, S15_F18_AfterItsTermAFrozenPassStartsNoFurtherWrite) {
  int count = 1;
  for (;; ++count) {
    SCOPED_TRACE("frozen after write " + std::to_string(count));
    World world;
    if (!world.RunToWrite(count)) break;
    for (int minute = 0; minute < 5; ++minute) {
      world.cluster.Advance(std::chrono::minutes(1));
      world.RunToRest();
    }
    EXPECT_EQ(world.writes, count);
  }
  EXPECT_GT(count, 5);
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

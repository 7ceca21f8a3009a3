#include "test/simulation/replica.h"

#include <gtest/gtest.h>

#include <chrono>

#include "test/simulation/peers.h"

namespace simulation {
namespace {

// A controller alone with a domain that is to get its children.
struct World {
  World() {
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
  Replica replica{cluster.server(), {}, [this](const http::Request& r) { return Serve(r); }};
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

}  // namespace
}  // namespace simulation

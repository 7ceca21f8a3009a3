// Goal: whatever happens to single writes, a node ends where it should: with its workload done, its
// domain label gone, its claims given back, and, where its daemon was told to stop, its entry gone.
// Method: run one whole lifecycle, under both membership writers, in which writes fail at random; a
// second one without failures says what the end looks like.
#include <gtest/gtest.h>

#include <string>

#include "test/cluster/nodesim/test_world.h"

namespace nodesim {
namespace {

using base::ErrorCode;
using std::chrono::seconds;

// What the DaemonSet controller does, and the ComputeDomain controller where it writes membership.
void PlayTheOthers(TestWorld& world, bool controller_writes, int& daemons) {
  const bool wanted = world.node && world.node->domain == kDomainUid;
  std::string daemon;
  for (const auto& [name, pod] : world.pods) {
    if (name.starts_with("daemon")) daemon = name;
  }
  if (wanted && daemon.empty()) {
    world.AddDaemon("daemon-" + std::to_string(++daemons), controller_writes);
  }
  if (!wanted && !daemon.empty() && !world.GetPod(daemon).meta.deleting) world.DeletePod(daemon);
  if (!controller_writes || daemon.empty()) return;

  const Pod& pod = world.GetPod(daemon);
  const std::string name = std::string(kDomainUid) + "." + kCliqueId;
  if (pod.clique_label != kCliqueId || pod.status.pod_ip.empty()) return;
  Clique& clique = world.cliques[name];
  clique.meta.key = {.ns = world.settings.driver_namespace, .name = name};
  clique.daemons.clear();
  if (!pod.meta.deleting) {
    clique.daemons = {{.node = kNodeName,
                       .ip = pod.status.pod_ip,
                       .clique_id = kCliqueId,
                       .index = 0,
                       .status = pod.status.ready ? "Ready" : "NotReady"}};
  }
}

void Live(TestWorld& world, bool controller_writes, seconds span) {
  int daemons = 0;
  for (milliseconds elapsed{0}; elapsed < span; elapsed += milliseconds(50)) {
    PlayTheOthers(world, controller_writes, daemons);
    world.Run(milliseconds(50));
  }
}

void ExpectTheEnd(TestWorld& world) {
  EXPECT_EQ(world.GetPod("work").status.phase, "Succeeded");
  EXPECT_EQ(world.pods.size(), 1U) << "the daemon's pod is gone";
  EXPECT_EQ(world.node->domain, "");
  EXPECT_TRUE(world.state.claims.empty());
  EXPECT_EQ(world.Entry(), nullptr);
  EXPECT_EQ(world.slices.size(), 1U);
  EXPECT_EQ(world.node->ready, "True");
}

TEST(Life, WorkloadRunsAndNothingStaysBehind) {
  for (const bool controller_writes : {false, true}) {
    SCOPED_TRACE(controller_writes);
    TestWorld world;
    world.AddDomain("default");
    world.AddWorkload("work").run_seconds = 2;
    Live(world, controller_writes, seconds(1));
    EXPECT_EQ(world.GetPod("work").status.phase, "Running");
    Live(world, controller_writes, seconds(5));
    ExpectTheEnd(world);
  }
}

TEST(Life, WritesThatFailOrWhoseRepliesAreLostChangeNothingInTheEnd) {
  constexpr ErrorCode kCodes[] = {ErrorCode::kUnavailable, ErrorCode::kConflict,
                                  ErrorCode::kTooManyRequests, ErrorCode::kDeadlineExceeded};
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool controller_writes = seed % 2 == 0;
    SeededRandom random(seed);
    TestWorld world;
    world.AddDomain("default");
    world.AddWorkload("work").run_seconds = 2;
    world.fault = [&](const Action& /*action*/) -> std::optional<TestWorld::Fault> {
      if (random.Next() % 3 != 0) return std::nullopt;
      if (random.Next() % 2 == 0) {
        return TestWorld::Fault{.code = ErrorCode::kUnknownOutcome, .applied = true};
      }
      return TestWorld::Fault{.code = kCodes[random.Next() % 4]};
    };
    Live(world, controller_writes, seconds(30));
    world.fault = nullptr;
    Live(world, controller_writes, seconds(30));
    ExpectTheEnd(world);
  }
}

TEST(Life, WatchesThatLagChangeNothingInTheEnd) {
  using Watch = TestWorld::Watch;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool controller_writes = seed % 2 == 0;
    SeededRandom random(seed);
    TestWorld world;
    world.AddDomain("default");
    world.AddWorkload("work").run_seconds = 2;
    int daemons = 0;
    for (int i = 0; i < 400; ++i) {
      for (const Watch watch : {Watch::kNode, Watch::kSlice, Watch::kPod, Watch::kClaim,
                                Watch::kDomain, Watch::kClique}) {
        // Half the time each; for 200 ms on average.
        if (random.Next() % 4 != 0) continue;
        if (random.Next() % 2 == 0) {
          world.Lag(watch);
        } else {
          world.CatchUp(watch);
        }
      }
      PlayTheOthers(world, controller_writes, daemons);
      world.Run(milliseconds(50));
    }
    for (const Watch watch : {Watch::kNode, Watch::kSlice, Watch::kPod, Watch::kClaim,
                              Watch::kDomain, Watch::kClique}) {
      world.CatchUp(watch);
    }
    Live(world, controller_writes, seconds(30));
    ExpectTheEnd(world);
  }
}

TEST(Life, RebootsOfANodeDoNotStopItsNextWorkload) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool controller_writes = seed % 2 == 0;
    SeededRandom random(seed);
    TestWorld world;
    world.AddDomain("default");
    world.AddWorkload("first").run_seconds = 2;
    Live(world, controller_writes, seconds(static_cast<int>(random.Next() % 4)));
    Reboot(world.state, "boot-2", WallTime());
    Live(world, controller_writes, seconds(10));
    const std::string phase = world.GetPod("first").status.phase;
    EXPECT_TRUE(phase == "Succeeded" || phase == "Failed") << phase;
    // The label may have stayed behind; a next workload of the same domain runs all the same.
    world.RemovePod("first");
    world.AddWorkload("work").run_seconds = 2;
    Live(world, controller_writes, seconds(20));
    ExpectTheEnd(world);
  }
}

}  // namespace
}  // namespace nodesim

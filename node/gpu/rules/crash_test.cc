// Goal: whatever is cut off by a crash, every run of calls has the same end.
// Method: a model of the node does what the rules decide. Its process ends after each number of
// steps; then the kubelet asks again. After each step, the promises of the driver are checked.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/gpu/rules/garbage.h"
#include "node/gpu/rules/prepare.h"
#include "node/gpu/rules/testing/node_and_claims.h"
#include "pkg/base/overload.h"

namespace gpu {
namespace {

// What lasts over a crash.
struct Disk {
  std::string checkpoint = Encode(Checkpoint{.boot_id = "boot"});
  std::map<std::string, cdi::Spec> specs = {};
  friend bool operator==(const Disk&, const Disk&) = default;
};

class Process {
 public:
  explicit Process(Disk& disk) : disk_(disk) {}

  // Answers the call, or ends after `steps` steps. Returns whether it answered without an error.
  bool Prepare(const ClaimToPrepare& claim, int steps = 100) {
    return Work(claim, steps, [&](const NodeObservation& observed) {
      return gpu::Prepare(node_, claim.uid, &claim, checkpoint(), observed);
    });
  }
  bool Unprepare(const ClaimToPrepare& claim, int steps = 100) {
    return Work(claim, steps, [&](const NodeObservation& observed) {
      return gpu::Unprepare(claim.uid, checkpoint(), observed);
    });
  }
  Checkpoint checkpoint() const {
    const auto resumed = dra::Resume<CheckpointClaim>(disk_.checkpoint, "boot");
    EXPECT_EQ(resumed.why, "");
    EXPECT_TRUE(resumed.damaged.empty());
    return resumed.checkpoint;
  }
  int steps_done() const { return done_; }

 private:
  template <typename Rule>
  bool Work(const ClaimToPrepare& claim, int steps, Rule rule) {
    for (;; ++done_) {
      NodeObservation observed;
      const auto spec = disk_.specs.find(claim.uid);
      observed.has_spec = spec != disk_.specs.end();
      if (observed.has_spec) observed.spec = spec->second;
      const ClaimStep step = rule(observed);
      if (const auto* answer = std::get_if<AnswerKubelet>(&step)) return answer->error.empty();
      if (std::holds_alternative<dra::WaitForChange>(step) || steps-- == 0) return false;
      Do(step, claim);
      ExpectOneHolder();
    }
  }

  void Do(const ClaimStep& step, const ClaimToPrepare& claim) {
    Checkpoint next = checkpoint();
    const bool is_known = std::visit(
        base::Overload{
            [&](const dra::CheckpointStarted&) {
              next.claims[claim.uid] = StartedClaim(claim);
              return true;
            },
            [&](const dra::WriteSpec& write) {
              disk_.specs[claim.uid] = write.spec;
              return true;
            },
            [&](const CheckpointCompleted& completed) {
              next.claims[claim.uid].state = ClaimState::kCompleted;
              next.claims[claim.uid].groups = {completed.group};
              return true;
            },
            [&](const dra::RemoveSpec&) { return disk_.specs.erase(claim.uid) > 0; },
            [&](const RemoveFromCheckpoint&) { return next.claims.erase(claim.uid) > 0; },
            [](const auto&) { return false; }},
        step);
    EXPECT_TRUE(is_known) << step.index();
    disk_.checkpoint = Encode(next);
  }

  void ExpectOneHolder() const {
    std::map<std::string, std::string> holders;
    for (const auto& [uid, entry] : checkpoint().claims) {
      if (entry.state != ClaimState::kCompleted || !entry.status.wanted()) continue;
      for (const WantedDevice& device : entry.status.wanted()->devices) {
        if (device.allocated.admin_access) continue;
        const auto holder = holders.emplace(device.allocated.device, uid).first;
        EXPECT_EQ(holder->second, uid) << "of " << device.allocated.device;
      }
    }
  }

  Disk& disk_;
  const GpuNode node_ = NodeA();
  int done_ = 0;
};

const ClaimToPrepare kFirst = ClaimOf("a", {{"gpu-0"}, {kMigName}});
const ClaimToPrepare kSecond = ClaimOf("b", {{"gpu-0"}, {"gpu-1"}});
const ClaimToPrepare kAdmin =
    ClaimOf("m", {{.device = "gpu-0", .request = "x"},
                  {.device = "gpu-1", .request = "y", .admin_access = true}});

TEST(Crash, InAnyStep_EndsAsWithoutACrash) {
  Disk expected;
  Process undisturbed(expected);
  ASSERT_TRUE(undisturbed.Prepare(kFirst));
  const Disk prepared = expected;
  const int most = undisturbed.steps_done();
  ASSERT_EQ(most, 3);
  ASSERT_TRUE(undisturbed.Unprepare(kFirst));
  for (int steps = 0; steps <= most; ++steps) {
    Disk disk;
    EXPECT_EQ(Process(disk).Prepare(kFirst, steps), steps == most);
    EXPECT_TRUE(Process(disk).Prepare(kFirst));
    EXPECT_EQ(disk, prepared) << "after " << steps;
    for (int back = 0; back <= 2; ++back) {
      Disk copy = disk;
      EXPECT_EQ(Process(copy).Unprepare(kFirst, back), back == 2);
      EXPECT_TRUE(Process(copy).Unprepare(kFirst));
      EXPECT_EQ(copy, Disk()) << "nothing is left";
    }
  }
}

TEST(Crash, InPrepare_ThenUnprepare_LeavesNothing) {
  for (int steps = 0; steps <= 3; ++steps) {
    Disk disk;
    static_cast<void>(Process(disk).Prepare(kFirst, steps));
    EXPECT_TRUE(Process(disk).Unprepare(kFirst));
    EXPECT_EQ(disk, Disk()) << "after " << steps;
  }
}

TEST(Crash, InUnprepare_ThenPrepare_IsPreparedAgain) {
  Disk prepared;
  ASSERT_TRUE(Process(prepared).Prepare(kFirst));
  for (int steps = 0; steps <= 2; ++steps) {
    Disk disk = prepared;
    static_cast<void>(Process(disk).Unprepare(kFirst, steps));
    EXPECT_TRUE(Process(disk).Prepare(kFirst));
    EXPECT_EQ(disk, prepared) << "after " << steps;
  }
}

TEST(Crash, ClaimsOfOneDevice_NeverHoldItTogether) {
  for (const auto& [one, other] : {std::pair(kFirst, kSecond), std::pair(kAdmin, kFirst)}) {
    for (int first = 0; first <= 3; ++first) {
      for (int second = 0; second <= 3; ++second) {
        Disk disk;
        const bool is_first = Process(disk).Prepare(one, first);
        const bool is_second = Process(disk).Prepare(other, second);
        EXPECT_FALSE(is_first && is_second);
        // The kubelet asks for both again. The one that was completed first is prepared.
        const bool has_one = Process(disk).Prepare(one);
        const bool has_other = Process(disk).Prepare(other);
        EXPECT_NE(has_one, has_other) << first << " " << second;
        EXPECT_TRUE(Process(disk).Unprepare(has_one ? one : other));
        EXPECT_TRUE(Process(disk).Prepare(has_one ? other : one));
        EXPECT_TRUE(Process(disk).Unprepare(one));
        EXPECT_TRUE(Process(disk).Unprepare(other));
        EXPECT_EQ(disk, Disk());
      }
    }
  }
}

// No claim that is prepared loses its spec to the collection, and no other spec stays.
TEST(Crash, R12_Garbage_IsNothingThatAClaimNeeds) {
  for (int steps = 0; steps <= 3; ++steps) {
    Disk disk;
    static_cast<void>(Process(disk).Prepare(kFirst, steps));
    disk.specs["orphan"] = {};
    std::vector<std::string> uids;
    for (const auto& [uid, spec] : disk.specs) uids.push_back(uid);
    const GarbagePlan plan = FindGarbage(Process(disk).checkpoint(), uids);
    EXPECT_EQ(plan.remove_specs, std::vector<std::string>{"orphan"}) << "after " << steps;
  }
}

}  // namespace
}  // namespace gpu

// Goal: what fault_sweep_test.cc asks of two lives holds of all of them, whatever strikes. Method:
// the same. Of the smallest life every request is struck in every way. Of the others each strike
// takes one request in so many, and each another than the strike before it: together they take
// nearly every request, but of the largest life every third.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/simulation/expect_clean.h"
#include "test/simulation/scripts.h"

namespace simulation {
namespace {

struct Manner {
  std::string workload = {};
  bool controller_writes = false;
};
void PrintTo(const Manner& manner, std::ostream* out) {
  *out << manner.workload << (manner.controller_writes ? " cdom" : " reference");
}
std::string NameOf(const testing::TestParamInfo<Manner>& info) {
  return info.param.workload + (info.param.controller_writes ? "Cdom" : "Reference");
}

// How many requests in a row share one blow of each strike: as many as the time allows.
int EveryOf(const std::string& workload) {
  if (workload == "W1" || kEveryRequest) return kCoarser;
  if (workload == "W2" || workload == "W3") return 3 * kCoarser;
  return (workload == "W17" ? 31 : 11) * kCoarser;
}
// And one crash that is followed by an old view of one kind.
int EveryStaleOf(const std::string& workload) {
  if (kEveryRequest) return 1;
  return workload == "W17" ? 71 : 17;
}

std::vector<Manner> AllManners() {
  std::vector<Manner> manners;
  for (const Script& script : Scripts()) {
    if (script.is_of_own_daemons) continue;  // See daemon_sweep_test.cc.
    for (const bool controller_writes : {false, true}) {
      if (script.has_nvidias_rights && controller_writes) continue;  // It may not create cliques.
      manners.push_back({.workload = script.name, .controller_writes = controller_writes});
    }
  }
  return manners;
}

// Lives and strikes that fault_sweep_test.cc has.
bool IsInTheOtherSweep(const std::string& workload, Strike strike) {
  return (workload == "W1" || workload == "W3") &&
         (strike == Strike::kCrashBefore || strike == Strike::kCrashAfter ||
          strike == Strike::kReplyLost || strike == Strike::kConflict ||
          strike == Strike::kUserDeletes);
}

class WideSweep : public testing::TestWithParam<Manner> {};

TEST_P(WideSweep, ALifeWithoutFaultsIsCleanAndQuiet) {
  const Outcome outcome =
      Live({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes});
  for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  EXPECT_GT(outcome.requests, 15);
}

TEST_P(WideSweep, WhateverStrikesWhereverIsMadeGood) {
  const std::string& workload = GetParam().workload;
  std::vector<Blow> blows(kAllStrikes.begin(), kAllStrikes.end());
  std::erase_if(blows, [&](const Blow& b) { return IsInTheOtherSweep(workload, b.strike); });
  std::cerr << "[ sampled  ] each strike at one request in " << EveryOf(workload) << "\n";
  ExpectClean(Sweep({.workload = workload, .controller_writes = GetParam().controller_writes},
                    blows, EveryOf(workload)),
              30);
}

TEST_P(WideSweep, S14_TwoLeadersDoNoHarmHoweverTheyInterleave) {
  std::vector<Life> lives;
  const std::uint64_t seeds = GetParam().workload == "W17" || kCoarser > 1 ? 1 : 4;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Plan plan = {.workload = GetParam().workload,
                       .controller_writes = GetParam().controller_writes,
                       .two_leaders = true,
                       .seed = seed};
    lives.push_back({.plan = plan, .outcome = Live(plan)});
  }
  ExpectClean(lives, 0);
}

TEST_P(WideSweep, F7_AStaleFirstListAfterACrashHarmsNothing) {
  const int every = EveryStaleOf(GetParam().workload);
  std::cerr << "[ sampled  ] a crash at one request in " << every << "\n";
  std::vector<Blow> blows;
  for (const char* stale : {"pods", "computedomains", "nodes", "daemonsets",
                            "resourceclaimtemplates", "resourceclaims", "computedomaincliques"}) {
    blows.emplace_back(Strike::kCrashAfter, stale);
  }
  if (kCoarser > 1) blows.erase(blows.begin() + 1, blows.end());
  ExpectClean(
      Sweep({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes},
            blows, every),
      static_cast<int>(blows.size()));
}

INSTANTIATE_TEST_SUITE_P(Lives, WideSweep, testing::ValuesIn(AllManners()), NameOf);

}  // namespace
}  // namespace simulation

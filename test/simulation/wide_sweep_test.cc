// Goal: what fault_sweep_test.cc asks of two lives holds of all of them, whatever strikes. Method:
// the same. Of the smallest life every request is struck in every way. Of the others each strike
// takes one request in so many, and each another than the strike before it: together they take
// nearly every request, but of the largest life every third. The openings of watches are struck
// likewise, in a sweep of their own. Left out are, of each process, requests for the Lease after
// the first four, and whatever is sent while all is at rest and nothing but that may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
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
  if (workload == "W15") return 7 * kCoarser;  // So that each strike meets what it can strike.
  return (workload == "W17" ? 31 : 11) * kCoarser;
}
// And one crash that is followed by an old view of one kind.
int EveryStaleOf(const std::string& workload) {
  if (kEveryRequest) return 1;
  return (workload == "W17" ? 71 : 17) * (kCoarser > 1 ? 2 : 1);
}

// How many openings of watches in a row share one.
int EveryWatchOf(const std::string& workload) {
  if (workload == "W1" || kEveryRequest) return kCoarser;
  return (workload == "W17" ? 23 : 5) * kCoarser;
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
class StaleFirstList : public WideSweep {};
class OldViews : public WideSweep {};
class MixedOrder : public WideSweep {};
class StruckAmidOthers : public WideSweep {};

std::vector<Manner> MannersBut(const std::vector<std::string>& left_out) {
  std::vector<Manner> manners = AllManners();
  std::erase_if(manners, [&](const Manner& manner) {
    return std::ranges::find(left_out, manner.workload) != left_out.end();
  });
  return manners;
}

// Where a life takes many times as long, few workloads show what a sanitizer is to find.
std::vector<Manner> Few(std::vector<Manner> manners) {
  const std::set<std::string> few = {"W1", "W8", "W15"};
  if (kCoarser > 1)
    std::erase_if(manners, [&](const Manner& m) { return !few.contains(m.workload); });
  return manners;
}

TEST_P(WideSweep, ALifeWithoutFaultsIsCleanAndQuiet) {
  const Outcome outcome =
      Live({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes});
  for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  EXPECT_GT(outcome.requests, 15);
}

TEST_P(WideSweep, WhateverStrikesWhereverIsMadeGood) {
  const std::string& workload = GetParam().workload;
  std::vector<Blow> blows(kAllStrikes.begin(), kAllStrikes.end());
  std::erase_if(blows, [&](const Blow& b) {
    return IsInTheOtherSweep(workload, b.strike) || b.strike == Strike::kViewsStall ||
           b.strike == Strike::kImexEnds || b.strike == Strike::kDaemonDies;
  });
  std::cerr << "[ sampled  ] each strike at one request in " << EveryOf(workload) << "\n";
  ExpectSwept({.workload = workload, .controller_writes = GetParam().controller_writes}, blows,
              EveryOf(workload));
}

// Those of a process that starts, and where watches are frail those of one that is at work.
TEST_P(WideSweep, WhateverStrikesWhicheverWatchIsMadeGood) {
  std::vector<Blow> blows;
  for (const Strike strike : kAllStrikes) {
    const bool is_of_watches = strike != Strike::kConflict && strike != Strike::kViewsStall &&
                               strike != Strike::kImexEnds && strike != Strike::kDaemonDies;
    if (is_of_watches) blows.push_back(Blow::AtWatches(strike));
  }
  const int every = EveryWatchOf(GetParam().workload);
  std::cerr << "[ sampled  ] each strike at one watch in " << every << "\n";
  for (const bool frail : {false, true}) {
    ExpectSwept({.workload = GetParam().workload,
                 .controller_writes = GetParam().controller_writes,
                 .frail_watches = frail},
                blows, every);
  }
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

TEST_P(StaleFirstList, F7_AStaleFirstListAfterACrashHarmsNothing) {
  const int every = EveryStaleOf(GetParam().workload);
  std::cerr << "[ sampled  ] a crash at one request in " << every << "\n";
  std::vector<Blow> blows;
  for (const char* stale : {"pods", "computedomains", "nodes", "daemonsets",
                            "resourceclaimtemplates", "resourceclaims", "computedomaincliques"}) {
    blows.emplace_back(Strike::kCrashAfter, stale);
  }
  if (kCoarser > 1) blows.erase(blows.begin() + 1, blows.end());
  ExpectSwept({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes},
              blows, every);
}

// What a view shows that is old may be gone, too: a domain that was deleted, pods and labels of the
// last job. Two kinds may be old at once, and nobody need have died.
TEST_P(OldViews, F8_F9_ViewsOfAnyAgeHarmNothing) {
  const int every = EveryStaleOf(GetParam().workload) * 3;
  std::vector<Blow> blows;
  for (const Strike strike : {Strike::kCrashAfter, Strike::kViewsStall}) {
    const bool stalls = strike == Strike::kViewsStall;
    for (const char* stale :
         {"pods", "computedomains", "nodes", "daemonsets", "resourceclaimtemplates",
          "resourceclaims", "computedomaincliques", "nodes+pods", "computedomains+pods",
          "computedomaincliques+pods", "computedomains+resourceclaims",
          "daemonsets+resourceclaimtemplates", "nodes+resourceclaims"}) {
      for (const int age : stalls ? std::vector{0} : std::vector{12, 70}) {
        blows.emplace_back(strike, stale, age);
      }
    }
  }
  if (kCoarser > 1) blows.erase(blows.begin() + 1, blows.end());
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes},
              blows, every);
}

// Production has eight workers, and nobody else in a cluster waits for his turn either.
TEST_P(MixedOrder, T5_T8_WhoeverMovesNextAndHoweverLateHarmsNothing) {
  const bool is_large = GetParam().workload == "W17";
  std::vector<Life> lives;
  const std::uint64_t seeds = is_large || kCoarser > 1 ? 2 : 24;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Plan plan = {.workload = GetParam().workload,
                       .controller_writes = GetParam().controller_writes,
                       .mixed = true,
                       .two_leaders = seed % 4 == 0,
                       .seed = seed};
    lives.push_back({.plan = plan, .outcome = Live(plan)});
  }
  ExpectClean(lives, 0);
  const Life& busiest = *std::ranges::max_element(
      lives, {}, [](const Life& life) { return life.outcome.passes_at_once; });
  std::cerr << "[ passes   ] " << busiest.outcome.passes_at_once << " at once\n";
  if (GetParam().workload == "W33") {
    EXPECT_GE(busiest.outcome.passes_at_once, 3) << "five domains, and each has one at a time";
  }
}

// A real namespace controller empties it in any order of kinds.
TEST(Namespace, T9_GoesInWhicheverOrderItsKindsAreDeleted) {
  std::vector<Life> lives;
  for (const bool controller_writes : {false, true}) {
    for (std::uint64_t seed = 1; seed <= (kCoarser > 1 ? 2 : 24); ++seed) {
      const Plan plan = {.workload = "W10", .controller_writes = controller_writes, .seed = seed};
      lives.push_back({.plan = plan, .outcome = Live(plan)});
    }
  }
  ExpectClean(lives, 0);
}

// What befalls those who do not move in turn, and what they then see.
std::vector<Blow> BlowsAmidOthers() {
  std::vector<Blow> blows = {Strike::kCrashBefore,   Strike::kCrashAfter,  Strike::kReplyLost,
                             Strike::kConflict,      Strike::kUserDeletes, Strike::kUserRecreates,
                             Strike::kWatchesExpire, Strike::kNodeLost};
  blows.emplace_back(Strike::kCrashAfter, "pods", 12);
  blows.emplace_back(Strike::kCrashAfter, "computedomains", 70);
  blows.emplace_back(Strike::kViewsStall, "nodes+pods");
  return blows;
}

// The requests of a step travel side by side, so a crash at one of them leaves any of the others
// done.
TEST_P(StruckAmidOthers, T7_ACrashAfterAnySubsetOfAStepIsMadeGood) {
  const int every = EveryStaleOf(GetParam().workload) * 6;
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.workload = GetParam().workload,
               .controller_writes = GetParam().controller_writes,
               .mixed = true,
               .seed = 5},
              BlowsAmidOthers(), every);
}

TEST_P(StruckAmidOthers, T5_TwoLeadersAreStruckAndSeeOldViewsAndDoNoHarm) {
  const int every = EveryStaleOf(GetParam().workload) * 6;
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.workload = GetParam().workload,
               .controller_writes = GetParam().controller_writes,
               .mixed = GetParam().controller_writes,
               .two_leaders = true,
               .seed = 7},
              BlowsAmidOthers(), every);
}

INSTANTIATE_TEST_SUITE_P(Lives, WideSweep, testing::ValuesIn(AllManners()), NameOf);
// Under NVIDIA's rights (W27) each life waits for half an hour's graces: too long.
INSTANTIATE_TEST_SUITE_P(Lives, StaleFirstList, testing::ValuesIn(Few(AllManners())), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, OldViews, testing::ValuesIn(Few(MannersBut({"W27"}))), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, MixedOrder, testing::ValuesIn(AllManners()), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, StruckAmidOthers, testing::ValuesIn(Few(AllManners())), NameOf);

}  // namespace
}  // namespace simulation

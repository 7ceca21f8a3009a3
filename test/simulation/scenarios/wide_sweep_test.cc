// Goal: what fault_sweep_test.cc asks of two lives holds of all of them, whatever strikes. Method:
// the same. Of the smallest life every request is struck in every way. Of the others each strike
// takes one request in so many, and each another than the strike before it: together they take
// nearly every request, but of the largest life every third. The openings of watches are struck
// likewise, in a sweep of their own. Left out are, of each process, requests for the Lease after
// the first four, and whatever is sent while all is at rest and nothing but that may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/scenarios/expect_clean.h"
#include "test/simulation/scenarios/scripts.h"

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
  // Of a large life, and of one that waits for half an hour's graces, few.
  return (workload == "W17" || workload == "W27" ? 71 : 17) * (kCoarser > 1 ? 2 : 1);
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
class MixedOrder : public WideSweep {};
class StruckAmidOthers : public WideSweep {};
class Elected : public WideSweep {};

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
  const Plan plan = {.workload = GetParam().workload,
                     .controller_writes = GetParam().controller_writes};
  const Life life = {.plan = plan, .outcome = Live(plan)};
  ExpectClean(std::vector{life}, 0);
  EXPECT_GT(life.outcome.requests, 15);
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
  for (const char* stale : kWatchedKinds) blows.emplace_back(Strike::kCrashAfter, stale);
  if (kCoarser > 1) blows.erase(blows.begin() + 1, blows.end());
  ExpectSwept({.workload = GetParam().workload, .controller_writes = GetParam().controller_writes},
              blows, every);
}

// Each kind, and each pair of kinds: "nodes", "nodes+pods".
std::vector<std::string> KindsAndPairs() {
  std::vector<std::string> all(kWatchedKinds.begin(), kWatchedKinds.end());
  for (std::size_t i = 0; i < kWatchedKinds.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      all.push_back(std::string(kWatchedKinds[i]) + "+" + kWatchedKinds[j]);
    }
  }
  return all;
}

class OldViews : public WideSweep {
 protected:
  // Of a program that lived enough of these lives, each of the kinds and pairs was old in some.
  static void TearDownTestSuite() {
    for (const auto& [strike, seen] : seen_) {
      int lives = 0;
      for (const auto& [kinds, count] : seen) lives += count;
      if (lives < 200) continue;
      EXPECT_EQ(seen.size(), KindsAndPairs().size()) << ToString(strike);
    }
  }
  static inline std::map<Strike, std::map<std::string, int>> seen_;
};

// At each of its turns, one in `every`, the blow with that number of `blows` has others of the
// kinds and pairs, from the workload's `first` on, and of another age; now and then a pair is as
// old as the life, as single kinds are in StaleFirstList. What stalls is new.
Blow DrawOldView(Strike strike, std::size_t number, std::size_t blows, int every,
                 std::size_t first) {
  const auto draw = [=, all = KindsAndPairs()](int at) -> Stale {
    const std::size_t turn = first + blows * static_cast<std::size_t>(at / every) + number;
    const std::size_t which = turn % all.size();
    const bool is_first = which >= kWatchedKinds.size() && turn % 8 == 0;
    const bool has_no_age = strike == Strike::kViewsStall || is_first;
    return {.kinds = all[which], .age = has_no_age ? 0 : 1 + (at * 37) % 200};
  };
  return {strike, draw};
}

// What a view shows that is old may be gone, too: a domain that was deleted, pods and labels of the
// last job. Two kinds may be old at once, and nobody need have died.
TEST_P(OldViews, F8_F9_ViewsOfAnyAgeHarmNothing) {
  const int every = EveryStaleOf(GetParam().workload) * 3;
  const auto first = static_cast<std::size_t>(FindScript(GetParam().workload) - Scripts().data());
  constexpr std::size_t kCrashes = 26;
  constexpr std::size_t kStalls = 13;
  std::vector<Blow> blows;
  for (std::size_t i = 0; i < kCrashes; ++i) {
    blows.push_back(DrawOldView(Strike::kCrashAfter, i, kCrashes, every, first));
  }
  for (std::size_t i = 0; i < kStalls; ++i) {
    blows.push_back(DrawOldView(Strike::kViewsStall, i, kStalls, every, first));
  }
  if (kCoarser > 1) blows.erase(blows.begin() + 1, blows.end());
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  const std::vector<Life> lives = ExpectSwept(
      {.workload = GetParam().workload, .controller_writes = GetParam().controller_writes}, blows,
      every);
  for (const Life& life : lives) {
    if (!life.outcome.struck) continue;
    std::string kinds;
    for (const auto& [kind, revision] : ParseStale(life.plan.stale, 0)) {
      kinds += (kinds.empty() ? "" : "+") + kind;
    }
    ++seen_[life.plan.strike][kinds];
  }
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

// Who stood still goes on with what it was about to write, when another leads.
TEST_P(Elected, F17_F18_L8_S15_AStandbyTakesOverFromALeaderThatDiesOrStandsStill) {
  const int every = EveryStaleOf(GetParam().workload);
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.workload = GetParam().workload,
               .controller_writes = GetParam().controller_writes,
               .mixed = GetParam().controller_writes,
               .standby = true,
               .seed = 11},
              {Strike::kCrashBefore, Strike::kCrashAfter, Strike::kReplyLost, Strike::kServerError,
               Strike::kFreezes},
              every);
}

INSTANTIATE_TEST_SUITE_P(Lives, WideSweep, testing::ValuesIn(AllManners()), NameOf);
// fault_sweep_test.cc has W1's.
INSTANTIATE_TEST_SUITE_P(Lives, StaleFirstList, testing::ValuesIn(Few(MannersBut({"W1"}))), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, OldViews, testing::ValuesIn(Few(AllManners())), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, MixedOrder, testing::ValuesIn(AllManners()), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, Elected, testing::ValuesIn(Few(AllManners())), NameOf);
INSTANTIATE_TEST_SUITE_P(Lives, StruckAmidOthers, testing::ValuesIn(Few(AllManners())), NameOf);

}  // namespace
}  // namespace simulation

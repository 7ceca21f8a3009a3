// Goal: what fault_sweep_test.cc asks of two scenarios holds for all scenarios and all faults.
// Method: the same. In the smallest scenario every fault is tried at every request. In the others
// each fault takes one request in so many, and each fault another than the one before it: together
// they take nearly every request, and every third in the largest scenario. Openings of watches have
// a sweep of their own. RunSpec::at says which requests are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/scenarios/expect_clean.h"
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {
namespace {

struct Variant {
  std::string scenario = {};
  bool controller_writes = false;
};
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << ParameterName(variant.scenario, variant.controller_writes);
}
std::string NameOf(const testing::TestParamInfo<Variant>& info) {
  return ParameterName(info.param.scenario, info.param.controller_writes);
}

// Each fault is tried at one in so many successive requests: as the time allows.
int EveryOf(const std::string& scenario) {
  if (scenario == "create-ready-delete" || kEveryRequest) return kCoarser;
  if (scenario == "delete-while-forming" || scenario == "recreate-same-name") return 3 * kCoarser;
  if (scenario == "delete-children") return 7 * kCoarser;  // So that each fault applies somewhere.
  return (scenario == "clique-full" ? 31 : 9) * kCoarser;
}
// The same of crashes that are followed by a stale kind.
int EveryStaleOf(const std::string& scenario) {
  if (kEveryRequest) return 1;
  // Few of a large run, and of one that waits for grace periods of half an hour.
  return (scenario == "clique-full" || scenario == "nvidia-permissions" ? 71 : 14) *
         (kCoarser > 1 ? 2 : 1);
}

// The same of openings of watches.
int EveryWatchOf(const std::string& scenario) {
  if (scenario == "create-ready-delete" || kEveryRequest) return kCoarser;
  return (scenario == "clique-full" ? 23 : 5) * kCoarser;
}

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  for (const Scenario& scenario : Scenarios()) {
    if (scenario.needs_own_daemons) continue;  // See daemon_sweep_test.cc.
    for (const bool controller_writes : {false, true}) {
      // It may not create cliques.
      const bool daemons_write = scenario.has_nvidia_permissions || scenario.daemons_write;
      if (daemons_write && controller_writes) continue;
      variants.push_back({.scenario = scenario.name, .controller_writes = controller_writes});
    }
  }
  return variants;
}

// Pairs of scenario and fault that fault_sweep_test.cc has.
bool IsInTheOtherSweep(const std::string& scenario, Fault fault) {
  return (scenario == "create-ready-delete" || scenario == "recreate-same-name") &&
         (fault == Fault::kCrashBefore || fault == Fault::kCrashAfter ||
          fault == Fault::kReplyLost || fault == Fault::kConflict || fault == Fault::kUserDeletes);
}

class WideSweep : public testing::TestWithParam<Variant> {};
class StaleFirstList : public WideSweep {};
class UnreadableKind : public WideSweep {};
class SilentWatches : public WideSweep {};
class Restored : public WideSweep {};
class MixedOrder : public WideSweep {};
class MixedOrderWithFaults : public WideSweep {};
class Elected : public WideSweep {};

std::vector<Variant> VariantsBut(const std::vector<std::string>& left_out) {
  std::vector<Variant> variants = AllVariants();
  std::erase_if(variants, [&](const Variant& variant) {
    return std::ranges::find(left_out, variant.scenario) != left_out.end();
  });
  return variants;
}

// Where a run takes many times as long, few scenarios show what a sanitizer can find.
std::vector<Variant> Few(std::vector<Variant> variants) {
  const std::set<std::string> few = {"create-ready-delete", "replace-daemons", "delete-children"};
  if (kCoarser > 1)
    std::erase_if(variants, [&](const Variant& m) { return !few.contains(m.scenario); });
  return variants;
}

TEST_P(WideSweep, RunWithoutFaults_IsCleanAndQuiet) {
  const RunSpec spec = {.scenario = GetParam().scenario,
                        .controller_writes = GetParam().controller_writes};
  const RunResult run = {.spec = spec, .outcome = Execute(spec)};
  ExpectClean(std::vector{run}, 0);
  EXPECT_GT(run.outcome.requests, 15);
}

TEST_P(WideSweep, AnyFaultAtAnyRequest_IsRepaired) {
  const std::string& scenario = GetParam().scenario;
  std::vector<FaultSpec> faults(kAllFaults.begin(), kAllFaults.end());
  std::erase_if(faults, [&](const FaultSpec& b) {
    return IsInTheOtherSweep(scenario, b.fault) || IsOfKinds(b.fault) ||
           b.fault == Fault::kImexEnds || b.fault == Fault::kDaemonDies;
  });
  std::cerr << "[ sampled  ] each fault at one request in " << EveryOf(scenario) << "\n";
  ExpectSwept({.scenario = scenario, .controller_writes = GetParam().controller_writes}, faults,
              EveryOf(scenario));
}

// Watches of a process that starts and, where watches are flaky, of one that is at work.
TEST_P(WideSweep, AnyFaultAtAnyWatch_IsRepaired) {
  std::vector<FaultSpec> faults;
  for (const Fault fault : kAllFaults) {
    const bool is_of_watches = fault != Fault::kConflict && !IsOfKinds(fault) &&
                               fault != Fault::kImexEnds && fault != Fault::kDaemonDies;
    if (is_of_watches) faults.push_back(FaultSpec::AtWatches(fault));
  }
  const int every = EveryWatchOf(GetParam().scenario);
  std::cerr << "[ sampled  ] each fault at one watch in " << every << "\n";
  for (const bool is_flaky : {false, true}) {
    ExpectSwept({.scenario = GetParam().scenario,
                 .controller_writes = GetParam().controller_writes,
                 .flaky_watches = is_flaky},
                faults, every);
  }
}

TEST_P(WideSweep, S14_TwoLeadersDoNoHarmHoweverTheyInterleave) {
  std::vector<RunResult> runs;
  const std::uint64_t seeds = GetParam().scenario == "clique-full" || kCoarser > 1 ? 1 : 4;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunSpec spec = {.scenario = GetParam().scenario,
                          .controller_writes = GetParam().controller_writes,
                          .two_leaders = true,
                          .seed = SeedOf(seed)};
    runs.push_back({.spec = spec, .outcome = Execute(spec)});
  }
  ExpectClean(runs, 0);
}

TEST_P(StaleFirstList, F7_AStaleFirstListAfterACrashHarmsNothing) {
  const int every = EveryStaleOf(GetParam().scenario);
  std::cerr << "[ sampled  ] a crash at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* stale : kWatchedKinds) faults.emplace_back(Fault::kCrashAfter, stale);
  if (kCoarser > 1) faults.erase(faults.begin() + 1, faults.end());
  ExpectSwept({.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes},
              faults, every);
}

TEST_P(UnreadableKind, REV3_F3_KindThatCannotBeReadForMinutesTakesNobodysReadiness) {
  const int every = EveryStaleOf(GetParam().scenario);
  std::cerr << "[ sampled  ] each kind at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* kind : kWatchedKinds) faults.emplace_back(Fault::kReadsFail, kind);
  ExpectSwept({.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes},
              faults, every);
}

// For the rest of the run. A server whose etcd was restored without a bump of the revision accepts
// watches from versions that it does not have yet.
TEST_P(SilentWatches, REV4_K4_KindWhoseWatchesFallSilentIsListed) {
  const int every = EveryStaleOf(GetParam().scenario) * 2;
  std::cerr << "[ sampled  ] each kind at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* kind : kWatchedKinds) faults.emplace_back(Fault::kWatchesSilent, kind);
  ExpectSwept({.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes},
              faults, every);
}

TEST_P(Restored, REV4_K4_RestoreThatOneKindShowsIsNoticedForAll) {
  const int every = EveryStaleOf(GetParam().scenario) * 2;
  std::cerr << "[ sampled  ] each kind at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* kind : kWatchedKinds) faults.emplace_back(Fault::kRestored, kind, 12);
  ExpectSwept({.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes},
              faults, every);
}

// The same of a process that starts without the kind.
TEST_P(UnreadableKind, REV4_K8_KindThatAProcessNeverReadHoldsUpOnlyWhatNeedsIt) {
  const int every = EveryStaleOf(GetParam().scenario) * 3;
  std::cerr << "[ sampled  ] each kind at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* kind : kWatchedKinds) faults.emplace_back(Fault::kKindUnknown, kind);
  ExpectSwept({.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes},
              faults, every);
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

class StaleCaches : public WideSweep {
 protected:
  // If this program had enough of these runs, each kind and pair was stale in some.
  static void TearDownTestSuite() {
    for (const auto& [fault, seen] : seen_) {
      int runs = 0;
      for (const auto& [kinds, count] : seen) runs += count;
      if (runs < 200) continue;
      EXPECT_EQ(seen.size(), KindsAndPairs().size()) << ToString(fault);
    }
  }
  static inline std::map<Fault, std::map<std::string, int>> seen_;
};

// The fault with that number, of `faults`. At each of its turns, one in `every`, another kind or
// pair is stale, beginning with `first`, and of another age. Now and then a pair is as old as the
// run, as single kinds are in StaleFirstList. Caches that stall are new.
FaultSpec DrawStale(Fault fault, std::size_t number, std::size_t faults, int every,
                    std::size_t first) {
  const auto draw = [=, all = KindsAndPairs()](int at) -> Stale {
    const std::size_t turn = first + faults * static_cast<std::size_t>(at / every) + number;
    const std::size_t which = turn % all.size();
    const bool is_first = which >= kWatchedKinds.size() && turn % 8 == 0;
    const bool has_no_age = fault == Fault::kViewsStall || is_first;
    return {.kinds = all[which], .age = has_no_age ? 0 : 1 + (at * 37) % 200};
  };
  return {fault, draw};
}

// A stale cache may also show what does not exist any more: a deleted domain, pods and labels of
// the last job. Two kinds may be stale at once, with or without a crash.
TEST_P(StaleCaches, F8_F9_StaleCachesOfAnyAgeHarmNothing) {
  const int every = EveryStaleOf(GetParam().scenario) * 3;
  const auto first =
      static_cast<std::size_t>(FindScenario(GetParam().scenario) - Scenarios().data());
  constexpr std::size_t kCrashes = 26;
  constexpr std::size_t kStalls = 13;
  std::vector<FaultSpec> faults;
  for (std::size_t i = 0; i < kCrashes; ++i) {
    faults.push_back(DrawStale(Fault::kCrashAfter, i, kCrashes, every, first));
  }
  for (std::size_t i = 0; i < kStalls; ++i) {
    faults.push_back(DrawStale(Fault::kViewsStall, i, kStalls, every, first));
  }
  if (kCoarser > 1) faults.erase(faults.begin() + 1, faults.end());
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  const std::vector<RunResult> runs = ExpectSwept(
      {.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes}, faults,
      every);
  for (const RunResult& run : runs) {
    if (!run.outcome.faulted) continue;
    std::string kinds;
    for (const auto& [kind, revision] : ParseStale(run.spec.stale, 0)) {
      kinds += (kinds.empty() ? "" : "+") + kind;
    }
    ++seen_[run.spec.fault][kinds];
  }
}

// Production has many workers, and no actor in a cluster waits for its turn.
TEST_P(MixedOrder, T5_T8_WhoeverMovesNextAndHoweverLateHarmsNothing) {
  const bool is_large = GetParam().scenario == "clique-full";
  std::vector<RunResult> runs;
  const std::uint64_t seeds = is_large || kCoarser > 1 ? 2 : 24;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunSpec spec = {.scenario = GetParam().scenario,
                          .controller_writes = GetParam().controller_writes,
                          .mixed = true,
                          .two_leaders = seed % 4 == 0,
                          .seed = SeedOf(seed)};
    runs.push_back({.spec = spec, .outcome = Execute(spec)});
  }
  ExpectClean(runs, 0);
  const RunResult& busiest = *std::ranges::max_element(
      runs, {}, [](const RunResult& run) { return run.outcome.passes_at_once; });
  std::cerr << "[ passes   ] " << busiest.outcome.passes_at_once << " at once\n";
  if (GetParam().scenario == "upgrade-five-domains") {
    EXPECT_GE(busiest.outcome.passes_at_once, 3) << "five domains, and each has one at a time";
  }
}

// A real namespace controller empties it in any order of kinds.
TEST(Namespace, T9_GoesInWhicheverOrderItsKindsAreDeleted) {
  std::vector<RunResult> runs;
  for (const bool controller_writes : {false, true}) {
    for (std::uint64_t seed = 1; seed <= (kCoarser > 1 ? 2 : 24); ++seed) {
      const RunSpec spec = {.scenario = "delete-namespace",
                            .controller_writes = controller_writes,
                            .seed = SeedOf(seed)};
      runs.push_back({.spec = spec, .outcome = Execute(spec)});
    }
  }
  ExpectClean(runs, 0);
}

// Faults for actors that do not move in turn, and which kinds are stale then.
std::vector<FaultSpec> FaultsInMixedOrder() {
  std::vector<FaultSpec> faults = {
      Fault::kCrashBefore, Fault::kCrashAfter,    Fault::kReplyLost,     Fault::kConflict,
      Fault::kUserDeletes, Fault::kUserRecreates, Fault::kWatchesExpire, Fault::kNodeLost};
  faults.emplace_back(Fault::kCrashAfter, "pods", 12);
  faults.emplace_back(Fault::kCrashAfter, "computedomains", 70);
  faults.emplace_back(Fault::kViewsStall, "nodes+pods");
  return faults;
}

// The requests of a step are sent at the same time, so after a crash at one of them any of the
// others may have taken effect.
TEST_P(MixedOrderWithFaults, T7_ACrashAfterAnySubsetOfAStepIsMadeGood) {
  const int every = EveryStaleOf(GetParam().scenario) * 6;
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.scenario = GetParam().scenario,
               .controller_writes = GetParam().controller_writes,
               .mixed = true,
               .seed = SeedOf(5)},
              FaultsInMixedOrder(), every);
}

TEST_P(MixedOrderWithFaults, T5_TwoLeadersWithFaultsAndStaleCachesDoNoHarm) {
  const int every = EveryStaleOf(GetParam().scenario) * 6;
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.scenario = GetParam().scenario,
               .controller_writes = GetParam().controller_writes,
               .mixed = GetParam().controller_writes,
               .two_leaders = true,
               .seed = SeedOf(7)},
              FaultsInMixedOrder(), every);
}

// A process that paused continues with what it was about to write, while another leads.
TEST_P(Elected, F17_F18_L8_S15_AStandbyTakesOverFromALeaderThatDiesOrStandsStill) {
  const int every = EveryStaleOf(GetParam().scenario);
  std::cerr << "[ sampled  ] each at one request in " << every << "\n";
  ExpectSwept({.scenario = GetParam().scenario,
               .controller_writes = GetParam().controller_writes,
               .mixed = GetParam().controller_writes,
               .standby = true,
               .seed = SeedOf(11)},
              {Fault::kCrashBefore, Fault::kCrashAfter, Fault::kReplyLost, Fault::kServerError,
               Fault::kFreezes},
              every);
}

INSTANTIATE_TEST_SUITE_P(Runs, WideSweep, testing::ValuesIn(AllVariants()), NameOf);
// fault_sweep_test.cc has those of create-ready-delete.
INSTANTIATE_TEST_SUITE_P(Runs, StaleFirstList,
                         testing::ValuesIn(Few(VariantsBut({"create-ready-delete"}))), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, UnreadableKind, testing::ValuesIn(Few(AllVariants())), NameOf);
// In the others a domain is deleted under a job, and its grace period ends before all is seen.
INSTANTIATE_TEST_SUITE_P(
    Runs, SilentWatches,
    testing::ValuesIn(Few(VariantsBut({"delete-while-forming", "plugin-outage"}))), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, Restored, testing::ValuesIn(Few(AllVariants())), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, StaleCaches, testing::ValuesIn(Few(AllVariants())), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, MixedOrder, testing::ValuesIn(AllVariants()), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, Elected, testing::ValuesIn(Few(AllVariants())), NameOf);
INSTANTIATE_TEST_SUITE_P(Runs, MixedOrderWithFaults, testing::ValuesIn(Few(AllVariants())), NameOf);

}  // namespace
}  // namespace simulation

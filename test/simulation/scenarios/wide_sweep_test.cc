// Goal: at whichever request a fault happens or the controller dies, a domain converges, a deleted
// domain leaves nothing behind, and nothing in use is harmed on the way. Method: execute a run, and
// at its requests 1, 2, 3, ... branch off the same run with a fault there. The oracles check every
// run against the history of all objects and the log of requests.
//
// In the smallest scenario every fault is tried at every request. In the others each fault takes
// one request in so many, and each fault another than the one before it: together they take nearly
// every request, and every third in the largest scenario. Openings of watches have a sweep of their
// own. RunSpec::at says which requests are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/target.h"
#include "test/simulation/mutants/expect_killed.h"
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

constexpr std::string_view kSmallest = "create-ready-delete";

// These have more runs than others.
bool IsSmall(const std::string& scenario) {
  return scenario == kSmallest || scenario == "recreate-same-name";
}

// Each fault is tried at one in so many successive requests: as the time allows.
int EveryOf(const std::string& scenario) {
  if (scenario == kSmallest || kEveryRequest) return kCoarser;
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
  if (scenario == kSmallest || kEveryRequest) return kCoarser;
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
  const RunSpec base = {.scenario = GetParam().scenario,
                        .controller_writes = GetParam().controller_writes};
  std::set<Fault> faults(kAllFaults.begin(), kAllFaults.end());
  std::erase_if(faults, [](Fault fault) {
    return IsOfKinds(fault) || fault == Fault::kImexEnds || fault == Fault::kDaemonDies;
  });
  if (base.scenario == "recreate-same-name") {
    const std::vector<Fault> at_every_request = {Fault::kCrashBefore, Fault::kCrashAfter,
                                                 Fault::kReplyLost, Fault::kConflict,
                                                 Fault::kUserDeletes};
    ExpectSwept(base, {at_every_request.begin(), at_every_request.end()}, kCoarser);
    for (const Fault fault : at_every_request) faults.erase(fault);
  }
  std::cerr << "[ sampled  ] each fault at one request in " << EveryOf(base.scenario) << "\n";
  ExpectSwept(base, {faults.begin(), faults.end()}, EveryOf(base.scenario));
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
  std::uint64_t seeds = IsSmall(GetParam().scenario) ? 16 : 4;
  if (GetParam().scenario == "clique-full" || kCoarser > 1) seeds = 1;
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
  const bool is_smallest = GetParam().scenario == kSmallest;
  const int every = is_smallest ? kCoarser : EveryStaleOf(GetParam().scenario);
  std::cerr << "[ sampled  ] a crash at one request in " << every << "\n";
  std::vector<FaultSpec> faults;
  for (const char* stale : kWatchedKinds) faults.emplace_back(Fault::kCrashAfter, stale);
  if (kCoarser > 1 && !is_smallest) faults.erase(faults.begin() + 1, faults.end());
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

// What a process that starts cannot read does not keep it from the rest.
TEST(KindUnknownFromTheStart, REV4_K8_HoldsUpOnlyWhatNeedsIt) {
  std::vector<RunResult> runs;
  for (const Variant& variant : AllVariants()) {
    if (!IsSmall(variant.scenario)) continue;
    for (const char* kind : kWatchedKinds) {
      const RunSpec spec = {.scenario = variant.scenario,
                            .controller_writes = variant.controller_writes,
                            .fault = Fault::kKindUnknown,
                            .at = 1,
                            .stale = kind};
      runs.push_back({.spec = spec, .outcome = Execute(spec)});
    }
  }
  ExpectClean(runs, static_cast<int>(runs.size()));
}

// A view of nodes stays in the moment in which the node of a job is lost: its watch is silent, or
// delivers only bookmarks. The node is back, and the job runs on.
TEST(StaleNode, REV4_K4_LiveJobKeepsItsDaemons) {
  for (const bool controller_writes : {false, true}) {
    ExpectSwept({.scenario = "delete-while-node-is-lost", .controller_writes = controller_writes},
                {{Fault::kViewsStall, "nodes"}, {Fault::kWatchesSilent, "nodes"}}, kCoarser);
  }
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
INSTANTIATE_TEST_SUITE_P(Runs, StaleFirstList, testing::ValuesIn(Few(AllVariants())), NameOf);
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

TEST(WatchedKinds, AreAllThatTheControllerWatches) {
  World world({}, false);
  world.Execute();
  std::set<std::string> watched;
  for (const RequestRecord& request : world.cluster().server().requests()) {
    const bool is_one = request.client.starts_with("controller-") &&
                        request.target.verb == "watch" && request.target.kind != nullptr;
    if (is_one) watched.insert(request.target.kind->resource.plural);
  }
  EXPECT_EQ(watched, std::set<std::string>(kWatchedKinds.begin(), kWatchedKinds.end()));
}

// Executes the run with that text.
RunResult Replayed(const std::string& text) {
  std::istringstream words(text);
  std::string error;
  const RunSpec spec = ParseRunSpec({std::istream_iterator<std::string>(words), {}}, error);
  EXPECT_EQ(error, "") << text;
  return {.spec = spec, .outcome = Execute(spec)};
}

// Runs in which the product once went wrong, each with what it did.
TEST(Regression, REV3_H3_RunsThatOnceWentWrongEndAsTheyShould) {
  std::vector<RunResult> runs;
  for (const char* text : {
           // While a deletion waited for a job, status lost the members of a deleted clique, and
           // the clique that was created again gave the index of one to another (S3).
           "scenario=delete-children writer=controller fault=user-recreates at=97 order=mixed "
           "seed=5 tail=short",
           // An old view of the domain did not know the indices in use, when its clique was created
           // again (S3).
           "scenario=recreate-same-name writer=controller fault=crash-after at=93 "
           "stale=computedomains@1026 order=mixed leaders=2 seed=7 tail=short",
           // A node label without a pod, on a silent node, kept other domains waiting (L5).
           "scenario=delete-children writer=controller fault=node-lost at=32 tail=short",
           // A stale clique made nodes Ready whose daemons did not exist (S1).
           "scenario=move-to-another-rack fault=crash-after at=38 stale=computedomaincliques",
           // After a create that failed once, a domain without a template was Ready (L1).
           "scenario=template-name-taken fault=server-error at=49",
           "scenario=template-name-taken writer=controller fault=too-many-requests at=50",
           // From a stale cache of a deleted domain its template was created again and again (L6).
           "scenario=two-domains-compete fault=crash-after at=64 "
           "stale=computedomains@1244+pods@1244 tail=short",
           "scenario=nodes-recreated fault=crash-after at=67 stale=computedomains@1297",
           // From a stale cache of a deleted DaemonSet its clique was created again and again (L6).
           "scenario=delete-children writer=controller fault=crash-after at=40 "
           "stale=daemonsets@1037+pods@1037 "
           "tail=short",
           // A clique that the controller may not delete blocked a domain, and no condition said so
           // (L2).
           "scenario=nvidia-permissions fault=node-lost at=90",
           // The next time to read why pods wait moved on with the clock: no rest (L6).
           "scenario=taints-and-propagation fault=forbidden at=7",
           // From stale claims a node was labelled that nobody used (S6).
           "scenario=create-ready-delete fault=crash-after at=29 "
           "stale=resourceclaims@1059+resourceclaimtemplates@1059 tail=short",
           // From a stale cache of a DaemonSet its clique was deleted as often as its daemons
           // created it (L6).
           "scenario=delete-while-pods-wait fault=crash-after at=27 stale=daemonsets@989+nodes@989",
           // By an old view of their DaemonSet daemons were replaced a second time (D1).
           "scenario=replace-daemons fault=crash-after at=82 stale=daemonsets tail=short",
           // A daemon whose deletion was answered 500 was waited for, and stopped the rollout (L1).
           "scenario=replace-daemons writer=controller fault=server-error at=133 order=mixed "
           "replicas=2 seed=11 tail=short",
           // A condition said of a daemon that crashed after a reboot that it starts by itself, and
           // not why it does not (L1).
           "scenario=unhealthy-daemons writer=controller fault=node-lost watch=31 watches=flaky "
           "tail=short",
           "scenario=unhealthy-daemons fault=node-lost watch=31 watches=flaky tail=short",
           // Found by a seed that no sweep had (D1).
           "scenario=upgrade-five-domains writer=controller daemons=own fault=crash-before at=256 "
           "order=mixed seed=508093615",
           // Who had lost its label stayed expected where claims may not be read (L1).
           "scenario=nvidia-permissions writer=daemon fault=node-lost at=102 order=mixed "
           "watches=flaky seed=919916311",
           // By a clock that is fast a finalizer seemed to go too soon (S8, a false alarm).
           "scenario=daemons-without-cliques writer=controller daemons=own fault=user-recreates "
           "leaders=2 at=56 seed=987183345",
           // A template that was made and not seen yet was called missing (S21).
           "scenario=recreate-same-name writer=controller fault=reads-fail at=38 "
           "stale=resourceclaimtemplates tail=short",
           // Ready was said while claims had not arrived after a watch was renewed (S21).
           "scenario=upgrade-five-domains writer=daemon fault=reads-fail at=22 "
           "stale=computedomaincliques tail=short",
           // REV4_K18: one of two leaders had not seen the first IMEX, and each wrote what it knew
           // for ever (L1).
           "scenario=recreate-same-name writer=controller daemons=own fault=daemon-dies at=60 "
           "order=mixed leaders=2 seed=389654289",
           // REV4_K19: Ready was taken back for a pod that ran, by an old view of its claim (S21).
           "scenario=join-leave-rejoin writer=controller daemons=own fault=crash-after at=47 "
           "stale=resourceclaims+nodes order=mixed seed=514805300 tail=short",
           // REV4_K20: a watch that was cut after a second of changes came back 2.3 s later (L5).
           "scenario=imex-and-daemons-die writer=controller daemons=own fault=server-error "
           "replicas=2 at=51 watches=flaky seed=145927873",
           // An old view of a node showed a label that a plugin had set again for the next job, and
           // it was taken off (S6).
           "scenario=cliques-not-served writer=daemon fault=crash-after at=83 "
           "stale=computedomaincliques@1260+nodes@1260 tail=short",
       }) {
    runs.push_back(Replayed(text));
  }
  ExpectClean(runs, static_cast<int>(runs.size()));
}

// Without a fault: it was the order in which they moved.
TEST(Regression, REV3_H3_OrdersThatOnceWentWrongEndAsTheyShould) {
  std::vector<RunResult> runs;
  for (const char* text : {
           // Found by seeds that no sweep had: no rest (L1), an entry that stayed without a word
           // (I8), and an Event at rest (Q2).
           "scenario=move-to-another-rack writer=controller daemons=own leaders=2 order=mixed "
           "watches=flaky seed=806915259",
           "scenario=index-changed writer=daemon daemons=own leaders=2 order=mixed seed=372083890",
           "scenario=replace-daemons writer=controller leaders=2 seed=620600316",
           "scenario=move-to-another-rack writer=controller leaders=2 seed=190498",
           // A daemon that was told to stop was not heard of for 20 s (I8): the simulation's fault.
           "scenario=repair-refused writer=daemon daemons=own leaders=2 order=mixed watches=flaky "
           "seed=539449062",
           // REV4_K3: daemons without an owner counted as gone, and others got their indices.
           "scenario=orphan-daemons writer=controller daemons=own order=mixed seed=1",
       }) {
    runs.push_back(Replayed(text));
  }
  ExpectClean(runs, 0);
}

class PlannerMutant : public testing::TestWithParam<int> {};

TEST_P(PlannerMutant, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(Mutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, PlannerMutant,
                         testing::Range(0, static_cast<int>(Mutants().size())),
                         [](const auto& param) { return TestName(Mutants(), param.param); });

TEST(Sweep, BranchOfAMixedRun_IsTheRunOfItsSpec) {
  const std::vector<RunResult> runs =
      Sweep({.mixed = true, .seed = 5},
            {Fault::kCrashAfter, Fault::kWatchBreaks, FaultSpec::AtWatches(Fault::kServerError)},
            7 * kCoarser, true);
  EXPECT_GE(runs.size(), kCoarser == 1 ? 10U : 1U);
  for (const RunResult& run : runs) {
    const Outcome again = Execute(run.spec, true);
    EXPECT_EQ(run.outcome.trace, again.trace) << ToString(run.spec);
    EXPECT_EQ(run.outcome.violations, again.violations);
    EXPECT_EQ(run.outcome.passes_at_once, again.passes_at_once);
  }
}

TEST(Sweep, BranchOfARun_IsTheRunOfItsSpec) {
  const std::vector<RunResult> runs =
      Sweep({.controller_writes = true}, {{Fault::kCrashAfter, "pods"}, Fault::kConflict}, kCoarser,
            true);
  // Not every run: the runs of both faults alternate.
  const std::size_t step = kCoarser == 1 ? 15 : 5;
  for (std::size_t i = 0; i < runs.size(); i += step) {
    const Outcome again = Execute(runs[i].spec, true);
    EXPECT_EQ(runs[i].outcome.trace, again.trace) << ToString(runs[i].spec);
    EXPECT_EQ(runs[i].outcome.faulted, again.faulted);
    EXPECT_EQ(runs[i].outcome.violations, again.violations);
  }
}

TEST(Sweep, FaultsAtWatches_HitEveryKind_UnderTheirOwnNumbers) {
  const std::vector<RunResult> runs = Sweep(
      {}, {FaultSpec::AtWatches(Fault::kForbidden), FaultSpec::AtWatches(Fault::kWatchBreaks)}, 1,
      true);
  const int watches = runs.back().outcome.watches;
  std::set<std::string> kinds;
  EXPECT_EQ(runs.size(), static_cast<std::size_t>(2 * watches + 1));
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    const RunResult& run = runs[i];
    EXPECT_EQ(run.spec.at, 0);
    EXPECT_TRUE(run.outcome.faulted) << ToString(run.spec);
    const auto has_fault = [](const std::string& line) { return line.ends_with("<- fault"); };
    const auto faulted = std::ranges::find_if(run.outcome.trace, has_fault);
    ASSERT_NE(faulted, run.outcome.trace.end());
    const std::size_t at = faulted->find(" WATCH /api");
    ASSERT_NE(at, std::string::npos) << *faulted;
    const Target target = ParseTarget(http::Method::kGet, faulted->substr(faulted->find('/', at)));
    EXPECT_EQ(target.verb, "watch");
    kinds.insert(target.kind->resource.plural);
    EXPECT_EQ(run.outcome.trace, Execute(run.spec, true).trace) << ToString(run.spec);
  }
  RingLogger logger;
  compute_domain::Cache cache({std::string(kDriverNamespace)}, [](const std::string&) {}, logger);
  std::set<std::string> reflected;
  for (const auto& watch : cache.Watches()) reflected.insert(watch.options.resource.plural);
  EXPECT_EQ(kinds, reflected);
}

// So a sweep misses nothing where it does not branch off.
TEST(Sweep, FaultThatDoesNotApply_ChangesNothing) {
  const std::vector<Fault> faults = {Fault::kConflict, Fault::kUserDeletes};
  const std::vector<RunResult> runs = Sweep({}, {faults.begin(), faults.end()}, 1, true);
  const RunResult& without_fault = runs.back();
  EXPECT_FALSE(without_fault.outcome.faulted);
  int hit_nothing = 0;
  for (const Fault fault : faults) {
    for (int at = 1; at <= without_fault.outcome.requests; ++at) {
      const bool was_run = std::ranges::any_of(
          runs, [&](const RunResult& l) { return l.spec.fault == fault && l.spec.at == at; });
      if (was_run || ++hit_nothing % (8 * kCoarser) != 0) continue;
      const Outcome outcome = Execute({.fault = fault, .at = at}, true);
      EXPECT_FALSE(outcome.faulted);
      EXPECT_EQ(outcome.trace, without_fault.outcome.trace) << at;
    }
  }
  EXPECT_GT(hit_nothing, 20);
}

}  // namespace
}  // namespace simulation

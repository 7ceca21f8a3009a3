// Goal: at whichever request a fault happens or the controller dies, a domain converges, a deleted
// domain leaves nothing behind, and nothing in use is harmed on the way. Method: execute a run, and
// at its requests 1, 2, 3, ... branch off the same run with a fault there. The oracles check every
// run against the history of all objects and the log of requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
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
  const char* scenario;
  bool controller_writes;
};
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << ParameterName(variant.scenario, variant.controller_writes);
}
constexpr std::array kVariants = {
    Variant{"create-ready-delete", false}, Variant{"create-ready-delete", true},
    Variant{"recreate-same-name", false}, Variant{"recreate-same-name", true}};

class FaultSweep : public testing::TestWithParam<Variant> {
 protected:
  static RunSpec Base() {
    return {.scenario = GetParam().scenario, .controller_writes = GetParam().controller_writes};
  }
};

TEST_P(FaultSweep, ALifeWithoutFaultsIsCleanAndQuiet) {
  const RunResult run = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{run}, 0);
  EXPECT_GT(run.outcome.requests, 15);
}

TEST_P(FaultSweep, F1_ACrashAfterAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Fault::kCrashAfter}, kCoarser);
}
TEST_P(FaultSweep, F2_ACrashBeforeAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Fault::kCrashBefore}, kCoarser);
}
TEST_P(FaultSweep, F3_ALostReplyToAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Fault::kReplyLost}, kCoarser);
}
TEST_P(FaultSweep, F6_AConflictAtAnyWriteIsMadeGood) {
  ExpectSwept(Base(), {Fault::kConflict}, kCoarser);
}
TEST_P(FaultSweep, F24_TheUserMayDeleteTheDomainAtAnyRequest) {
  ExpectSwept(Base(), {Fault::kUserDeletes}, kCoarser);
}

INSTANTIATE_TEST_SUITE_P(Runs, FaultSweep, testing::ValuesIn(kVariants), [](const auto& param) {
  return ParameterName(param.param.scenario, param.param.controller_writes);
});

// F7: after a crash anywhere, one kind's first LIST is older than the domain.
class StaleFirstList : public testing::TestWithParam<const char*> {};

TEST_P(StaleFirstList, F7_HarmsNothingAndIsMadeGood) {
  for (const bool controller_writes : {false, true}) {
    ExpectSwept({.scenario = "create-ready-delete", .controller_writes = controller_writes},
                {{Fault::kCrashAfter, GetParam()}}, kCoarser);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StaleFirstList, testing::ValuesIn(kWatchedKinds),
                         [](const auto& param) { return std::string(param.param); });

// A view of nodes stays in the moment in which the node of a job is lost: its watch is silent, or
// delivers only bookmarks. The node is back, and the job runs on.
TEST(StaleNode, REV4_K4_LiveJobKeepsItsDaemons) {
  for (const bool controller_writes : {false, true}) {
    ExpectSwept({.scenario = "delete-while-node-is-lost", .controller_writes = controller_writes},
                {{Fault::kViewsStall, "nodes"}, {Fault::kWatchesSilent, "nodes"}}, kCoarser);
  }
}

// What a process that starts cannot read does not keep it from the rest.
class KindUnknownFromTheStart : public testing::TestWithParam<const char*> {};

TEST_P(KindUnknownFromTheStart, REV4_K8_HoldsUpOnlyWhatNeedsIt) {
  std::vector<RunResult> runs;
  for (const Variant& variant : kVariants) {
    const RunSpec spec = {.scenario = variant.scenario,
                          .controller_writes = variant.controller_writes,
                          .fault = Fault::kKindUnknown,
                          .at = 1,
                          .stale = GetParam()};
    runs.push_back({.spec = spec, .outcome = Execute(spec)});
  }
  ExpectClean(runs, static_cast<int>(runs.size()));
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindUnknownFromTheStart, testing::ValuesIn(kWatchedKinds),
                         [](const auto& param) { return std::string(param.param); });

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

TEST(TwoLeaders, S14_DoNoHarmHoweverTheyInterleave) {
  std::vector<RunResult> runs;
  const auto seeds = static_cast<std::uint64_t>(std::max(16 / kCoarser, 1));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Variant& variant : kVariants) {
      const RunSpec spec = {.scenario = variant.scenario,
                            .controller_writes = variant.controller_writes,
                            .two_leaders = true,
                            .seed = seed};
      runs.push_back({.spec = spec, .outcome = Execute(spec)});
    }
  }
  ExpectClean(runs, 0);
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
    std::istringstream words(text);
    std::string error;
    const RunSpec spec = ParseRunSpec({std::istream_iterator<std::string>(words), {}}, error);
    ASSERT_EQ(error, "");
    runs.push_back({.spec = spec, .outcome = Execute(spec)});
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
    std::istringstream words(text);
    std::string error;
    const RunSpec spec = ParseRunSpec({std::istream_iterator<std::string>(words), {}}, error);
    ASSERT_EQ(error, "") << text;
    runs.push_back({.spec = spec, .outcome = Execute(spec)});
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

TEST(RunSpec, IsReadBackFromItsOwnText) {
  for (const Fault fault : kAllFaults) {
    const RunSpec spec = {.scenario = "clique-full",
                          .controller_writes = true,
                          .own_daemons = true,
                          .fault = fault,
                          .at = 17,
                          .watch = 5,
                          .stale = "nodes+pods@1017",
                          .mixed = true,
                          .flaky_watches = true,
                          .two_leaders = true,
                          .standby = true,
                          .seed = 9,
                          .short_tail = true,
                          .mutant = "tear-down-forgets-a-role"};
    std::istringstream text(ToString(spec));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    std::string error;
    EXPECT_EQ(ToString(ParseRunSpec(words, error)), ToString(spec));
    EXPECT_EQ(error, "");
  }
  for (const char* wrong : {"fault=never", "end=soon", "tail=brief", "writer=x", "scenario=x",
                            "mutant=x", "at=", "watch=x", "watches=x", "seed", "stale=Pods"}) {
    std::string error;
    (void)ParseRunSpec({wrong}, error);
    EXPECT_NE(error, "") << wrong;
  }
}

TEST(Scenarios, HaveNamesOfTheirOwn) {
  for (const Scenario& scenario : Scenarios()) {
    EXPECT_EQ(FindScenario(scenario.name), &scenario) << scenario.name;
  }
}

TEST(Run, EqualSpecsGiveEqualRuns) {
  for (const bool two_leaders : {false, true}) {
    const RunSpec spec = {
        .fault = Fault::kCrashAfter, .at = 12, .two_leaders = two_leaders, .seed = 3};
    EXPECT_EQ(Execute(spec, true).trace, Execute(spec, true).trace);
  }
}

// What the controller writes, in turn, but the Lease.
std::vector<std::string> WritesOf(const RunSpec& spec) {
  std::vector<std::string> writes;
  for (const std::string& line : Execute(spec, true).trace) {
    const std::size_t at = line.find(" controller-1 ");
    const bool is_write = at != std::string::npos && line.find(" WATCH ") == std::string::npos &&
                          line.find(" GET ") == std::string::npos &&
                          line.find("/leases") == std::string::npos;
    if (is_write) writes.push_back(line.substr(at));
  }
  return writes;
}

// Without it a seed changes only random waits.
TEST(Run, MixedOrderIsWhatItsSeedSays) {
  const RunSpec in_turn = {.seed = 1};
  RunSpec other = in_turn;
  other.seed = 2;
  EXPECT_EQ(WritesOf(in_turn), WritesOf(other));
  const RunSpec mixed = {.mixed = true, .seed = 1};
  RunSpec other_mixed = mixed;
  other_mixed.seed = 2;
  EXPECT_NE(WritesOf(mixed), WritesOf(in_turn));
  EXPECT_NE(WritesOf(mixed), WritesOf(other_mixed));
  EXPECT_EQ(Execute(mixed, true).trace, Execute(mixed, true).trace);
}

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

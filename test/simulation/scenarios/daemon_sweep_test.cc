// Goal: beside the product's own daemons the controller does what the other sweeps ask of it, and
// the daemons do what daemon_oracles.h asks of them, for each fault at either. Method: the same,
// with the daemon's step in every daemon pod.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/scenarios/expect_clean.h"
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {
namespace {

struct Variant {
  const char* scenario;
  bool controller_writes;
  int every;  // Each fault is tried at one in so many successive requests.
};
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << ParameterName(variant.scenario, variant.controller_writes);
}
std::string NameOf(const testing::TestParamInfo<Variant>& info) {
  return ParameterName(info.param.scenario, info.param.controller_writes);
}

class DaemonSweep : public testing::TestWithParam<Variant> {
 protected:
  static RunSpec Base() {
    return {.scenario = GetParam().scenario,
            .controller_writes = GetParam().controller_writes,
            .own_daemons = true};
  }
};

int EveryOf(const Variant& variant) {
  // A thin sample takes more of these than of others: else too few runs would have a fault.
  return kEveryRequest ? 1 : variant.every * std::max(kCoarser / 5, 1);
}

TEST_P(DaemonSweep, RunWithoutFaults_IsCleanAndQuiet) {
  const RunResult run = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{run}, 0);
  EXPECT_GT(run.outcome.requests, 15);
}

TEST_P(DaemonSweep, AnyFaultAtAnyRequest_IsRepaired) {
  std::cerr << "[ sampled  ] each fault at one request in " << EveryOf(GetParam()) << "\n";
  std::vector<FaultSpec> faults(kAllFaults.begin(), kAllFaults.end());
  std::erase_if(faults, [](const FaultSpec& b) { return IsOfKinds(b.fault); });
  ExpectSwept(Base(), faults, EveryOf(GetParam()));
}

// F7: in the process after a crash one watch is stale for a while.
TEST_P(DaemonSweep, F7_AStaleFirstListAfterACrashHarmsNothing) {
  const std::vector<FaultSpec> faults = {{Fault::kCrashAfter, "computedomaincliques"},
                                         {Fault::kCrashAfter, "pods"}};
  ExpectSwept(Base(), faults, EveryOf(GetParam()));
}

TEST_P(DaemonSweep, S14_TwoLeadersDoNoHarmHoweverTheyInterleave) {
  std::vector<RunResult> runs;
  RunSpec spec = Base();
  spec.two_leaders = true;
  runs.push_back({.spec = spec, .outcome = Execute(spec)});
  ExpectClean(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, DaemonSweep,
    testing::Values(
        Variant{"create-ready-delete", true, 17}, Variant{"create-ready-delete", false, 17},
        Variant{"recreate-same-name", true, 31}, Variant{"recreate-same-name", false, 31},
        Variant{"join-leave-rejoin", true, 53}, Variant{"join-leave-rejoin", false, 53},
        Variant{"replace-daemons", true, 101}, Variant{"replace-daemons", false, 101},
        Variant{"delete-children", true, 67}, Variant{"delete-children", false, 67},
        Variant{"rejoin-clique", true, 67}, Variant{"rejoin-clique", false, 67},
        Variant{"daemon-on-dead-node", true, 31}, Variant{"daemon-on-dead-node", false, 31},
        Variant{"index-changed", true, 29}, Variant{"index-changed", false, 41},
        Variant{"imex-and-daemons-die", true, 37}, Variant{"imex-and-daemons-die", false, 53},
        Variant{"memory-is-lost", true, 41}, Variant{"memory-is-lost", false, 61}),
    NameOf);

// H2: every scenario, both membership writers, and both kinds of daemons, without a fault.
struct LeftOut {
  std::string scenario = {};
  bool controller_writes = false;
  bool own_daemons = false;
  const char* reason = "";
};
const std::vector<LeftOut>& AllLeftOut() {
  static const std::vector<LeftOut> all = {
      {"nvidia-permissions", true, false, "NVIDIA's chart lets no controller create cliques"},
      {"nvidia-permissions", true, true, "NVIDIA's chart lets no controller create cliques"},
      {"cliques-not-served", true, false, "no clique can be created"},
      {"cliques-not-served", true, true, "no clique can be created"},
      {"cliques-not-served", false, true, "cdom's daemons write cliques, and not status"}};
  return all;
}

TEST(DaemonSweepOnce, REV3_H2_EveryScenarioIsCleanWithoutFaults_OrLeftOutForAReason) {
  std::vector<RunResult> runs;
  std::size_t left_out = 0;
  for (const Scenario& scenario : Scenarios()) {
    for (const bool writes : {false, true}) {
      for (const bool own : {false, true}) {
        const bool is_out = std::ranges::any_of(AllLeftOut(), [&](const LeftOut& one) {
          return one.scenario == scenario.name && one.controller_writes == writes &&
                 one.own_daemons == own;
        });
        left_out += is_out ? 1 : 0;
        if (is_out) continue;
        const RunSpec spec = {
            .scenario = scenario.name, .controller_writes = writes, .own_daemons = own};
        runs.push_back({.spec = spec, .outcome = Execute(spec)});
      }
    }
  }
  ExpectClean(runs, 0);
  EXPECT_EQ(left_out, AllLeftOut().size()) << "a row names no scenario";
}

// Numbers of the requests by which the controller deletes a daemon pod, in a run without a fault.
// The lines of its trace are its requests in turn, but for logs, what users do, and watches, which
// have their own numbers.
std::vector<int> DeletionsOfDaemons(const RunSpec& spec) {
  std::vector<int> numbers;
  int number = 0;
  for (const std::string& line : Execute(spec, true).trace) {
    const bool is_other = line.starts_with("log: ") || line.find(" ms -- ") != std::string::npos ||
                          line.find(" WATCH ") != std::string::npos;
    if (is_other) continue;
    ++number;
    const bool is_one =
        line.find(" controller-") != std::string::npos &&
        line.find(" DELETE /api/v1/namespaces/cdom-system/pods/") != std::string::npos;
    if (is_one) numbers.push_back(number);
  }
  return numbers;
}

// A daemon whose deletion is refused does not count as replaced, and is replaced in the end; and a
// daemon that has not reported its clique is missing from none.
TEST(DaemonSweepOnce, C5_RunsWithAHinderedRolloutEndAsTheyShould) {
  std::vector<RunResult> runs;
  for (const bool writes : {true, false}) {
    const RunSpec rollout = {
        .scenario = "replace-daemons", .controller_writes = writes, .own_daemons = true};
    const std::vector<int> deletions = DeletionsOfDaemons(rollout);
    EXPECT_GE(deletions.size(), 4U) << "one for each daemon";
    for (const int at : deletions) {
      RunSpec spec = rollout;
      spec.at = at;
      spec.fault = runs.size() % 2 == 0 ? Fault::kConflict : Fault::kForbidden;
      runs.push_back({.spec = spec, .outcome = Execute(spec)});
    }
  }
  ExpectClean(runs, static_cast<int>(runs.size()));
}

class DaemonMutant : public testing::TestWithParam<int> {};

TEST_P(DaemonMutant, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(DaemonMutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, DaemonMutant,
                         testing::Range(0, static_cast<int>(DaemonMutants().size())),
                         [](const auto& param) { return TestName(DaemonMutants(), param.param); });

}  // namespace
}  // namespace simulation

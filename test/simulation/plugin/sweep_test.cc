// Goal: what oracles.h requires of the kubelet plugin holds, and a run with a fault ends as one
// without, whichever request or edit of the disk it hits. Method: the product's loop, over a disk
// that is a value, for kubelets that call again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/world.h"
#include "test/simulation/scenarios/expect_clean.h"

namespace simulation {
namespace {

// Whether it can happen at any request and any edit.
bool AppliesToAnything(PluginFault fault) {
  switch (fault) {
    case PluginFault::kForbidden:
    case PluginFault::kConflict:
    case PluginFault::kTorn:
    case PluginFault::kKubeletCancels:
    case PluginFault::kCallComesAgain:
    case PluginFault::kKubeletForgets:
    case PluginFault::kFilesLost:
    case PluginFault::kPluginRolls:
    case PluginFault::kLockHeld:
      return false;
    default:
      return true;
  }
}

// As the other sweeps do. Only a write to the API can be a conflict, and few requests are one.
void ExpectSwept(const PluginRunSpec& base, int every) {
  const std::vector<PluginRunResult> results = SweepPlugins(base, every);
  ExpectClean(results, 0);
  const auto all_faulted = std::ranges::count_if(
      results, [](const PluginRunResult& result) { return result.outcome.faulted; });
  thin_sample.Add(static_cast<int>(results.size()), static_cast<int>(all_faulted));
  constexpr int kEnough = 20;
  constexpr int kEnoughWrites = 2;
  const int requests = results.back().outcome.requests;
  const int writes = results.back().outcome.writes;
  const auto count = [&](PluginFault fault, bool stale) {
    return std::ranges::count_if(results, [&](const PluginRunResult& result) {
      return result.outcome.faulted && result.spec.fault == fault && result.spec.stale == stale;
    });
  };
  for (std::size_t i = 0; i < kAllPluginFaults.size(); ++i) {
    const PluginFault fault = kAllPluginFaults[i];
    const bool is_of_writes = fault == PluginFault::kConflict;
    ExpectTurns(fault, AppliesToAnything(fault), count(fault, false),
                TurnsOf(i, is_of_writes ? writes : requests, every),
                is_of_writes ? kEnoughWrites : kEnough, ToString(base));
  }
  ExpectTurns(PluginFault::kCrashAfter, true, count(PluginFault::kCrashAfter, true),
              TurnsOf(0, requests, every), kEnough, ToString(base));
}

// Each scenario, without and with a rolling update.
class PluginSweep : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static PluginRunSpec Base() {
    const auto [scenario, is_rolling] = GetParam();
    return {.scenario = PluginScenarios().at(static_cast<std::size_t>(scenario)).name,
            .is_rolling = is_rolling};
  }
  static constexpr int kEvery = 5;  // Requests and edits in a row share one run of each fault.
};

TEST_P(PluginSweep, Oracle5_ARunWithoutFaultsIsClean) {
  const PluginRunResult result = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{result}, 0);
  EXPECT_GT(result.outcome.requests, 15);
}

TEST_P(PluginSweep, Oracle5_AnyFaultAnywhereIsMadeGood) {
  const int every = kEveryRequest ? 1 : kEvery * kCoarser;
  std::cerr << "[ sampled  ] each fault at one request or edit in " << every << "\n";
  ExpectSwept(Base(), every);
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, PluginSweep,
    testing::Combine(testing::Range(0, static_cast<int>(PluginScenarios().size())),
                     testing::Bool()),
    [](const auto& sweep) {
      return TestName(PluginScenarios(), std::get<0>(sweep.param)) +
             (std::get<1>(sweep.param) ? "rolling" : "");
    });

TEST(PluginRunSpec, IsReadBackFromItsOwnText) {
  std::string error;
  const PluginRunSpec spec = ParsePluginRunSpec(
      {"plugin", "scenario=wrong-claims", "fault=torn", "at=7", "stale=yes", "rolling=yes"}, error);
  EXPECT_EQ(ToString(spec), "plugin scenario=wrong-claims fault=torn at=7 stale=yes rolling=yes");
  EXPECT_EQ(error, "");
  static_cast<void>(ParsePluginRunSpec({"plugin", "fault=never"}, error));
  EXPECT_EQ(error, "what is fault=never?");
}

class PluginMutantTest : public testing::TestWithParam<int> {};

TEST_P(PluginMutantTest, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(PluginMutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, PluginMutantTest,
                         testing::Range(0, static_cast<int>(PluginMutants().size())),
                         [](const auto& param) { return TestName(PluginMutants(), param.param); });

}  // namespace
}  // namespace simulation

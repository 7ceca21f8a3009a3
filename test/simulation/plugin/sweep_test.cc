// Goal: what oracles.h requires of the kubelet plugin's rules holds, and a run with a fault ends as
// one without, whichever request or edit of the disk it hits. Method: the product's rules, over a
// disk that is a value, for kubelets that call again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/world.h"
#include "test/simulation/scenarios/expect_clean.h"

namespace simulation {
namespace {

// Whether it can happen at any request and any edit.
bool AppliesToAnything(PluginFault fault) {
  return fault != PluginFault::kForbidden && fault != PluginFault::kConflict &&
         fault != PluginFault::kTorn && fault != PluginFault::kKubeletCancels;
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

class PluginSweep : public testing::TestWithParam<int> {
 protected:
  static PluginRunSpec Base() {
    return {.scenario = PluginScenarios().at(static_cast<std::size_t>(GetParam())).name};
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

INSTANTIATE_TEST_SUITE_P(Scenarios, PluginSweep,
                         testing::Range(0, static_cast<int>(PluginScenarios().size())),
                         [](const auto& param) {
                           return TestName(PluginScenarios(), param.param);
                         });

TEST(PluginRunSpec, IsReadBackFromItsOwnText) {
  std::string error;
  const PluginRunSpec spec = ParsePluginRunSpec(
      {"plugin", "scenario=wrong-claims", "fault=torn", "at=7", "stale=yes"}, error);
  EXPECT_EQ(ToString(spec), "plugin scenario=wrong-claims fault=torn at=7 stale=yes");
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

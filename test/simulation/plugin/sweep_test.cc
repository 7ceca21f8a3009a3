// Goal: what plugin_oracles.h asks of the kubelet plugin's rules holds, and a claim that is struck
// ends as one that is not, whatever strikes whichever request or edit of the disk. Method: the
// product's rules, over a disk that is a value, for kubelets that ask again.
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

// Whether it befalls any request and any edit.
bool StrikesAnything(PluginStrike strike) {
  return strike != PluginStrike::kForbidden && strike != PluginStrike::kConflict &&
         strike != PluginStrike::kTorn;
}

// As the other sweeps do. Of a plugin's requests and edits few are writes to the API.
void ExpectSwept(const PluginPlan& base, int every) {
  const std::vector<PluginLife> lives = SweepPlugins(base, every);
  ExpectClean(lives, 0);
  const auto all_struck =
      std::ranges::count_if(lives, [](const PluginLife& life) { return life.outcome.faulted; });
  thin_sample.Add(static_cast<int>(lives.size()), static_cast<int>(all_struck));
  constexpr int kEnough = 20;
  const int requests = lives.back().outcome.requests;
  const auto count = [&](PluginStrike strike, bool stale) {
    return std::ranges::count_if(lives, [&](const PluginLife& life) {
      return life.outcome.faulted && life.spec.fault == strike && life.spec.stale == stale;
    });
  };
  for (std::size_t i = 0; i < kAllPluginStrikes.size(); ++i) {
    const PluginStrike strike = kAllPluginStrikes[i];
    ExpectTurns(strike, StrikesAnything(strike), count(strike, false), TurnsOf(i, requests, every),
                kEnough, ToString(base));
  }
  ExpectTurns(PluginStrike::kCrashAfter, true, count(PluginStrike::kCrashAfter, true),
              TurnsOf(0, requests, every), kEnough, ToString(base));
}

class PluginSweep : public testing::TestWithParam<const char*> {
 protected:
  static PluginPlan Base() { return {.workload = GetParam()}; }
  static constexpr int kEvery = 5;  // Requests and edits in a row share one blow of each strike.
};

TEST_P(PluginSweep, Oracle5_ALifeWithoutStrikesIsClean) {
  const PluginLife life = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{life}, 0);
  EXPECT_GT(life.outcome.requests, 15);
}

TEST_P(PluginSweep, Oracle5_WhateverStrikesWhereverIsMadeGood) {
  const int every = kEveryRequest ? 1 : kEvery * kCoarser;
  std::cerr << "[ sampled  ] each strike at one request or edit in " << every << "\n";
  ExpectSwept(Base(), every);
}

INSTANTIATE_TEST_SUITE_P(Lives, PluginSweep,
                         testing::Values("P1", "P2", "P3", "P4", "P5", "P6", "P7"),
                         [](const auto& param) { return std::string(param.param); });

TEST(PluginSweepOnce, EveryWorkloadIsSwept) { EXPECT_EQ(PluginWorkloads().size(), 7U); }

class PluginMutantTest : public testing::TestWithParam<int> {};

TEST_P(PluginMutantTest, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(PluginMutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, PluginMutantTest,
                         testing::Range(0, static_cast<int>(PluginMutants().size())),
                         [](const auto& param) { return TestName(PluginMutants(), param.param); });

}  // namespace
}  // namespace simulation

// Goal: what plugin_oracles.h asks of the kubelet plugin's rules holds, and a claim that is struck
// ends as one that is not, whatever strikes whichever request or edit of the disk. Method: the
// product's rules, over a disk that is a value, for kubelets that ask again.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "test/simulation/expect_clean.h"
#include "test/simulation/expect_killed.h"
#include "test/simulation/plugin_mutants.h"
#include "test/simulation/plugin_world.h"

namespace simulation {
namespace {

class PluginSweep : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  static PluginPlan Base() { return {.workload = std::get<0>(GetParam())}; }
  static constexpr int kEvery = 5;  // Requests and edits in a row share one blow of each strike.
};

TEST_P(PluginSweep, Oracle5_ALifeWithoutStrikesIsClean) {
  const PluginOutcome outcome = Live(Base());
  for (const std::string& violation : outcome.violations) ADD_FAILURE() << violation;
  EXPECT_GT(outcome.requests, 15);
}

TEST_P(PluginSweep, Oracle5_WhateverStrikesWhereverIsMadeGood) {
  const int every = kEveryRequest ? 1 : kEvery * kCoarser;
  std::cerr << "[ sampled  ] each strike at one request or edit in " << every << "\n";
  ExpectClean(SweepPlugins(Base(), every), std::get<1>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Lives, PluginSweep,
                         testing::Values(std::tuple("P1", 100), std::tuple("P2", 100),
                                         std::tuple("P3", 100), std::tuple("P4", 100),
                                         std::tuple("P5", 100), std::tuple("P6", 100),
                                         std::tuple("P7", 100)),
                         [](const auto& param) { return std::string(std::get<0>(param.param)); });

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

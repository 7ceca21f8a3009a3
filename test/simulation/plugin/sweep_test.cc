// Goal: what oracles.h requires of the kubelet plugin holds, and a run with a fault ends as one
// without, whichever request or edit of the disk it hits. Method: the product's loop, over a disk
// that is a value, for kubelets that call again.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "test/simulation/driver/expect_swept.h"
#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/world.h"

namespace simulation {
namespace {

// Each scenario, without and with a rolling update.
class PluginSweep : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static PluginRunSpec Base() {
    const auto [scenario, is_rolling] = GetParam();
    return {.program = &DomainPlugins(),
            .scenario = PluginScenarios().at(static_cast<std::size_t>(scenario)).name,
            .is_rolling = is_rolling};
  }
};

TEST_P(PluginSweep, Oracle5_ARunWithoutFaultsIsClean) {
  const PluginRunResult result = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{result}, 0);
  EXPECT_GT(result.outcome.requests, 15);
}

TEST_P(PluginSweep, Oracle5_AnyFaultAnywhereIsMadeGood) { ExpectSwept(Base(), SampledEvery()); }

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
      DomainPlugins(), {"scenario=wrong-claims", "fault=torn", "at=7", "stale=yes", "rolling=yes"},
      error);
  EXPECT_EQ(ToString(spec), "plugin scenario=wrong-claims fault=torn at=7 stale=yes rolling=yes");
  EXPECT_EQ(error, "");
  static_cast<void>(ParsePluginRunSpec(DomainPlugins(), {"fault=never"}, error));
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

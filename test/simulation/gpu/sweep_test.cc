// Goal: what oracles.h requires of the GPU plugin holds, and a run with a fault ends as one
// without, whichever request or edit of the disk it hits. Method: the product's loop, over a disk
// that is a value, for kubelets that call again.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "test/simulation/driver/expect_swept.h"
#include "test/simulation/gpu/mutants.h"
#include "test/simulation/gpu/world.h"
#include "test/simulation/mutants/expect_killed.h"

namespace simulation {
namespace {

// Each scenario, without and with a rolling update.
class GpuSweep : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static PluginRunSpec Base() {
    const auto [scenario, is_rolling] = GetParam();
    return {.program = &GpuPlugins(),
            .scenario = GpuScenarios().at(static_cast<std::size_t>(scenario)).name,
            .is_rolling = is_rolling};
  }
};

TEST_P(GpuSweep, Oracle5_ARunWithoutFaultsIsClean) {
  const PluginRunResult result = {.spec = Base(), .outcome = Execute(Base())};
  ExpectClean(std::vector{result}, 0);
  EXPECT_GT(result.outcome.requests, 5);
}

TEST_P(GpuSweep, Oracle5_AnyFaultAnywhereIsMadeGood) { ExpectSwept(Base(), SampledEvery()); }

INSTANTIATE_TEST_SUITE_P(
    Scenarios, GpuSweep,
    testing::Combine(testing::Range(0, static_cast<int>(GpuScenarios().size())), testing::Bool()),
    [](const auto& sweep) {
      return TestName(GpuScenarios(), std::get<0>(sweep.param)) +
             (std::get<1>(sweep.param) ? "rolling" : "");
    });

class GpuMutantTest : public testing::TestWithParam<int> {};

TEST_P(GpuMutantTest, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(GpuMutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, GpuMutantTest,
                         testing::Range(0, static_cast<int>(GpuMutants().size())),
                         [](const auto& param) { return TestName(GpuMutants(), param.param); });

}  // namespace
}  // namespace simulation

// Wrong rules of the GPU plugin, to test the oracles.
//
// As in mutants.h of the simulation, each has the oracle that must notice it and the run that shows
// it.
#pragma once

#include <string>
#include <vector>

#include "node/gpu/rules/rules.h"
#include "test/simulation/driver/scenario.h"

namespace simulation {

struct GpuMutant {
  std::string name = {};
  std::string oracle = {};
  gpu::Rules rules = {};
  PluginRunSpec told_by = {};
};

const std::vector<GpuMutant>& GpuMutants();

}  // namespace simulation

// Wrong rules of the kubelet plugin, to test the oracles.
//
// As in mutants.h, each has the oracle that must notice it and the run that shows it.
#pragma once

#include <string>
#include <vector>

#include "node/plugin/rules/rules.h"
#include "test/simulation/driver/scenario.h"

namespace simulation {

struct PluginMutant {
  std::string name = {};
  std::string oracle = {};
  plugin::Rules rules = {};
  PluginRunSpec told_by = {};
};

const std::vector<PluginMutant>& PluginMutants();

}  // namespace simulation

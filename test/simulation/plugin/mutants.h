// Wrong rules of the kubelet plugin, each with the oracle that must notice it and the run that
// shows it, as in mutants.h.
#pragma once

#include <string>
#include <vector>

#include "test/simulation/plugin/process.h"
#include "test/simulation/plugin/scenario.h"

namespace simulation {

struct PluginMutant {
  std::string name = {};
  std::string oracle = {};
  PluginRules rules = {};
  PluginRunSpec told_by = {};
};

[[nodiscard]] const std::vector<PluginMutant>& PluginMutants();
// nullptr if there is none such.
[[nodiscard]] const PluginMutant* FindPluginMutant(const std::string& name);

}  // namespace simulation

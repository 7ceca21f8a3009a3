// Wrong rules of the planner and of the daemon, each with the oracle that must notice it and the
// life that shows it. They are put in through the tables of rules; the product's code knows nothing
// of them.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/planner.h"
#include "test/simulation/cluster/daemon.h"
#include "test/simulation/scenarios/scenario.h"

namespace simulation {

struct Mutant {
  std::string name = {};
  std::string oracle = {};  // Violations begin with it, such as "S8".
  compute_domain::Rules rules = {};
  // Struck at one of its requests, this life goes wrong. Without a strike, as it is.
  Plan told_by = {};
  DaemonRules daemon_rules = {};
};

[[nodiscard]] const std::vector<Mutant>& Mutants();        // Of the planner.
[[nodiscard]] const std::vector<Mutant>& DaemonMutants();  // In lives with own daemons.
// For an empty name the product itself. nullptr if there is none such.
[[nodiscard]] const Mutant* FindMutant(const std::string& name);

}  // namespace simulation

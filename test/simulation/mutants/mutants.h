// Wrong rules of the planner and of the daemon, each with the oracle that must notice it.
//
// They replace entries in the tables of rules; the product's code has no hook for them.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/planner.h"
#include "test/simulation/cluster/daemon.h"
#include "test/simulation/scenarios/run_spec.h"

namespace simulation {

struct Mutant {
  std::string name = {};
  std::string oracle = {};  // Violations begin with it, such as "S8".
  compute_domain::Rules rules = {};
  // The run that shows it: with its fault at one of its requests, or as it is if it has none.
  RunSpec told_by = {};
  DaemonRules daemon_rules = {};
};

[[nodiscard]] const std::vector<Mutant>& Mutants();  // Of the planner.
[[nodiscard]] const std::vector<Mutant>&
DaemonMutants();  // Of the daemon; in runs with own daemons.
// The product itself for an empty name. Null if there is none.
[[nodiscard]] const Mutant* FindMutant(const std::string& name);

}  // namespace simulation

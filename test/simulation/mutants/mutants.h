// Wrong rules of planner and daemon, to test the oracles.
//
// They replace entries in the tables of rules; the product's code has no hook for them.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/plan/planner.h"
#include "test/simulation/cluster/daemon.h"
#include "test/simulation/scenarios/run_spec.h"

namespace simulation {

struct Mutant {
  std::string name = {};
  std::string oracle = {};  // Prefix of its violations, such as "S8".
  compute_domain::Rules rules = {};
  // The run that shows it. Its fault happens at one of its requests, if it has one.
  RunSpec told_by = {};
  DaemonRules daemon_rules = {};
  // How the controller takes a reply. Null if as it is.
  http::Response (*hears)(const http::Request& request, http::Response reply) = nullptr;
  bool believes_silence = false;  // A watch that delivers nothing proves that nothing has changed.
};

const std::vector<Mutant>& Mutants();        // For the planner.
const std::vector<Mutant>& DaemonMutants();  // For the daemon, in runs with own daemons.
// Returns the product itself for an empty name. Null if there is none.
const Mutant* FindMutant(const std::string& name);

}  // namespace simulation

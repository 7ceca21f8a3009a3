// The scenarios: what users, jobs and administrators do while the controller works.
//
// README.md lists them from this table; `test/lint/lint.sh scenarios` keeps the two equal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simulation {

class World;

struct Scenario {
  const char* name = "";  // In kebab case.
  const char* what = "";
  std::vector<std::pair<std::string, std::string>> nodes = {};  // Name and NVLink clique.
  void (*run)(World& world) = nullptr;  // Runs until all domains may be deleted.
  bool needs_own_daemons = false;       // Simulated daemons cannot show it.
  // The user does not wait for rest, or two domains compete. So the order of events decides.
  bool order_matters = false;
  bool has_nvidia_permissions = false;  // The controller has only what NVIDIA's chart grants.
  bool daemons_write = false;           // Only daemons can write the members.
  // For most of the scenario other actors undo the controller's writes (a plugin its labels, a
  // daemon that outlives a refused deletion its clique), or the controller looks for a kind that is
  // not served. So the number of requests and objects grows with time.
  bool never_rests = false;
  // The other correct course, if the first actor is delayed. Null if both courses have the same
  // states.
  void (*run_otherwise)(World& world) = nullptr;
};

const std::vector<Scenario>& Scenarios();
// Null if none has the name.
const Scenario* FindScenario(const std::string& name);

}  // namespace simulation

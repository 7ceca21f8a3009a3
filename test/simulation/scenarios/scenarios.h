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
  const char* name = "";   // In kebab case.
  const char* alias = "";  // Its number in the test plan, as older replays have it.
  const char* what = "";
  std::vector<std::pair<std::string, std::string>> nodes = {};  // Name and NVLink clique.
  void (*run)(World& world) = nullptr;  // Up to where all domains may be deleted.
  bool needs_own_daemons = false;       // Daemons that are played do not model what it tests.
  // Its user does not wait for rest, or lets two domains compete: the order of events decides.
  bool order_matters = false;
  bool has_nvidia_permissions = false;  // The controller has only what NVIDIA's chart grants.
  // Others undo what the controller does for most of it: a plugin its labels, a daemon that
  // outlives a refused deletion its clique. So what is sent and created grows with time.
  bool never_rests = false;
  // The other correct course, which the scenario takes if its first actor is delayed. Null if both
  // courses come to the same.
  void (*run_otherwise)(World& world) = nullptr;
};

[[nodiscard]] const std::vector<Scenario>& Scenarios();
// By name or alias. Null if none has it.
[[nodiscard]] const Scenario* FindScenario(const std::string& name);

}  // namespace simulation

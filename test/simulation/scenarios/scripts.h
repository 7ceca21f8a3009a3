// The lives that are lived: what users, jobs and administrators do while the controller looks after
// their domains. The names are those of the test plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simulation {

class World;

struct Script {
  const char* name = "";
  const char* what = "";
  std::vector<std::pair<std::string, std::string>> nodes = {};  // Name and NVLink clique.
  void (*live)(World& world) = nullptr;  // Up to where all domains may be deleted.
  bool is_of_own_daemons = false;        // Those that are played know nothing of what it is about.
  // Its user does not wait for rest, or gives what only one can have: the order of things counts.
  bool order_counts = false;
  bool has_nvidias_rights = false;  // The controller has what NVIDIA's chart grants, no more.
  // The same as it rightly goes, too, if who comes first in it is held up. Null: it does not
  // matter.
  void (*live_otherwise)(World& world) = nullptr;
};

[[nodiscard]] const std::vector<Script>& Scripts();
// nullptr if there is none of that name.
[[nodiscard]] const Script* FindScript(const std::string& name);

}  // namespace simulation

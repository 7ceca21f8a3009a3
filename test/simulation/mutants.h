// Wrong rules of the planner, each with the oracle that must notice it and the life that shows it.
// They are put in through the table of rules; the product's code knows nothing of them.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"
#include "test/simulation/plan.h"

namespace simulation {

struct Mutant {
  std::string name = {};
  std::string oracle = {};  // Violations begin with it, such as "S8".
  compute_domain::Rules rules = {};
  // Struck at one of its requests, this life goes wrong. Without a strike, as it is.
  Plan told_by = {};
};

[[nodiscard]] const std::vector<Mutant>& Mutants();
// The rules of that mutant; of the product for an empty name. nullptr if there is none such.
[[nodiscard]] const compute_domain::Rules* RulesOf(const std::string& mutant);

}  // namespace simulation

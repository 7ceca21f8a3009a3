// What a table of mutants expects of its lives.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "test/simulation/mutants/mutants.h"
#include "test/simulation/scenarios/run.h"

namespace simulation {

// By the oracle that is named for it, in the life that is, in which the product is clean.
template <typename AMutant>
void ExpectKilled(const AMutant& mutant) {
  std::string killed_by;
  auto plan = mutant.told_by;
  const bool is_struck = plan.strike != decltype(plan.strike)::kNone;
  for (plan.at = is_struck ? 1 : 0; killed_by.empty(); ++plan.at) {
    plan.mutant = mutant.name;
    const auto wrong = Live(plan);
    for (const std::string& violation : wrong.violations) {
      if (violation.substr(0, violation.find_first_of(" :")) != mutant.oracle) continue;
      auto right = plan;
      right.mutant.clear();
      EXPECT_EQ(Live(right).violations, Violations()) << ToString(right);
      killed_by = ToString(plan) + ": " + violation;
      break;
    }
    if (!is_struck || wrong.requests < plan.at) break;
  }
  EXPECT_FALSE(killed_by.empty()) << mutant.name << " lives: " << mutant.oracle << " never noticed";
  std::cerr << "[ killed   ] " << killed_by << "\n";
}

// Of letters and digits alone.
template <typename Mutants>
std::string TestName(const Mutants& mutants, int number) {
  std::string name = mutants[static_cast<std::size_t>(number)].name;
  std::erase(name, '-');
  return name;
}

}  // namespace simulation

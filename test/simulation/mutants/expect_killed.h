// The expectation that an oracle notices a mutant.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "test/simulation/mutants/mutants.h"
#include "test/simulation/scenarios/run.h"

namespace simulation {

// Expects the mutant's oracle to report it in the mutant's run. Without the mutant the same run
// must be clean.
template <typename AMutant>
void ExpectKilled(const AMutant& mutant) {
  std::string killed_by;
  auto spec = mutant.told_by;
  const bool has_fault = spec.fault != decltype(spec.fault)::kNone;
  for (spec.at = has_fault ? 1 : 0; killed_by.empty(); ++spec.at) {
    spec.mutant = mutant.name;
    const auto wrong = Execute(spec);
    for (const std::string& violation : wrong.violations) {
      if (violation.substr(0, violation.find_first_of(" :")) != mutant.oracle) continue;
      auto right = spec;
      right.mutant.clear();
      EXPECT_EQ(Execute(right).violations, Violations()) << ToString(right);
      killed_by = ToString(spec) + ": " + violation;
      break;
    }
    if (!has_fault || wrong.requests < spec.at) break;
  }
  EXPECT_FALSE(killed_by.empty()) << mutant.name << " survives: " << mutant.oracle
                                  << " never noticed";
  std::cerr << "[ killed   ] " << killed_by << "\n";
}

// Returns the name with letters and digits only.
template <typename Mutants>
std::string TestName(const Mutants& mutants, int number) {
  std::string name = mutants[static_cast<std::size_t>(number)].name;
  std::erase(name, '-');
  return name;
}

}  // namespace simulation

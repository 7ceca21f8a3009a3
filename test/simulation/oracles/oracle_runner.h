// Shows a run to the oracles while it happens.
//
// For one thread. It shows each change once. So a branch of a run continues after the changes that
// its trunk has shown.
#pragma once

#include <cstddef>
#include <vector>

#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

using MakeOracle = Oracle (*)(const OracleContext& context);

class OracleRunner {
 public:
  // Uses all oracles of safety. The arguments must outlive it.
  OracleRunner(const ApiServer& server, const SystemUnderTest& system);
  OracleRunner(const ApiServer& server, const SystemUnderTest& system,
               const std::vector<MakeOracle>& oracles);
  OracleRunner(const OracleRunner&) = delete;
  OracleRunner& operator=(const OracleRunner&) = delete;

  // Shows the oracles everything since the last call.
  void CatchUp();
  // Ends the run. Returns all violations, in the order in which they were found.
  Violations Finish();

 private:
  void ShowChanges(Revision up_to);

  const ApiServer& server_;
  Violations violations_;
  std::vector<Oracle> oracles_;
  GroundTruth truth_;
  std::size_t changes_ = 0;   // Number shown so far.
  std::size_t requests_ = 0;  // The same.
};

}  // namespace simulation

// Lives one plan and prints what happened: every request, every restart, every violation.
//
//   simulate workload=W1 manner=cdom strike=crash-after at=17 stale=pods

#include <cstdio>

#include "test/simulation/life.h"

int main(int argc, char** argv) {
  std::string error;
  const simulation::Plan plan =
      simulation::ParsePlan(std::vector<std::string>(argv + 1, argv + argc), error);
  if (!error.empty()) {
    std::fprintf(stderr, "simulate: %s\n", error.c_str());
    return 2;
  }
  const simulation::Outcome outcome = simulation::Live(plan, true);
  for (const std::string& line : outcome.trace) std::printf("%s\n", line.c_str());
  std::printf("%s: %d requests%s\n", ToString(plan).c_str(), outcome.requests,
              outcome.struck ? ", struck" : "");
  for (const std::string& violation : outcome.violations) {
    std::printf("VIOLATION %s\n", violation.c_str());
  }
  return outcome.violations.empty() ? 0 : 1;
}

// Lives one plan and prints what happened: every request, every restart, every violation.
//
//   simulate workload=W1 manner=cdom strike=crash-after at=17 stale=pods
//   simulate plugin workload=P1 strike=torn at=17

#include <cstdio>

#include "test/simulation/plugin/scenario.h"
#include "test/simulation/scenarios/run.h"

namespace {

template <typename AnyPlan>
int Show(const AnyPlan& plan, const std::string& error) {
  if (!error.empty()) {
    std::fprintf(stderr, "simulate: %s\n", error.c_str());
    return 2;
  }
  const auto outcome = simulation::Live(plan, true);
  for (const std::string& line : outcome.trace) std::printf("%s\n", line.c_str());
  std::printf("%s: %d requests%s\n", ToString(plan).c_str(), outcome.requests,
              outcome.struck ? ", struck" : "");
  for (const std::string& violation : outcome.violations) {
    std::printf("VIOLATION %s\n", violation.c_str());
  }
  return outcome.violations.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::string error;
  if (!words.empty() && words.front() == "plugin") {
    const simulation::PluginPlan plan = simulation::ParsePluginPlan(words, error);
    return Show(plan, error);
  }
  const simulation::Plan plan = simulation::ParsePlan(words, error);
  return Show(plan, error);
}

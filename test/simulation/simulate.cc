// Executes one run and prints every request, every restart and every violation. See README.md.
//
//   simulate scenario=create-ready-delete writer=controller fault=crash-after at=17 stale=pods
//   simulate plugin scenario=one-domain fault=torn at=17
//   simulate gpu scenario=one-gpu fault=torn at=7

#include <cstdio>

#include "test/simulation/gpu/world.h"
#include "test/simulation/plugin/world.h"
#include "test/simulation/scenarios/run.h"

namespace {

template <typename AnySpec>
int Show(const AnySpec& spec, const std::string& error) {
  if (!error.empty()) {
    std::fprintf(stderr, "simulate: %s\n", error.c_str());
    return 2;
  }
  const auto outcome = simulation::Execute(spec, true);
  for (const std::string& line : outcome.trace) std::printf("%s\n", line.c_str());
  std::printf("%s: %d requests%s\n", ToString(spec).c_str(), outcome.requests,
              outcome.faulted ? ", with a fault" : "");
  for (const std::string& violation : outcome.violations) {
    std::printf("VIOLATION %s\n", violation.c_str());
  }
  return outcome.violations.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string error;
  for (const auto* program : {&simulation::DomainPlugins(), &simulation::GpuPlugins()}) {
    if (words.empty() || words.front() != program->name) continue;
    words.erase(words.begin());
    const auto spec = simulation::ParsePluginRunSpec(*program, words, error);
    return Show(spec, error);
  }
  const simulation::RunSpec spec = simulation::ParseRunSpec(words, error);
  return Show(spec, error);
}

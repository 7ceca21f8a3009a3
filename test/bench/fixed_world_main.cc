// cdom-fixed-world: what the controller does with a world that is always the same. See README.md.
//
//   cdom-fixed-world make    writes the lists of the world into the current folder
//   cdom-fixed-world run     reads them, decides about each domain, and prints what came of it
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "test/bench/fixed_world.h"
#include "test/bench/fixed_world_parts.h"

namespace {

// In KiB. Empty if the kernel does not say it.
std::string PeakResident() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:" && status >> word) return word;
  }
  return {};
}

// Returns whether the domains want what the world was made for: no step, and every other one its
// status.
bool Run() {
  const auto cache = fixed_world::Read(".");
  std::size_t domains = 0;
  std::size_t steps = 0;
  std::size_t statuses = 0;
  for (const std::string& uid : cache->DomainUids()) {
    compute_domain::Observed observed = fixed_world::Look(*cache, uid);
    const fixtures::Plan plan = fixed_world::Decide(observed);
    ++domains;
    steps += plan.steps.size();
    if (!plan.status || fixed_world::Encode(*plan.status, observed).empty()) continue;
    ++statuses;
  }
  std::printf("domains %zu\nclaims %zu\nsteps %zu\nstatuses %zu\npeak-rss-kib %s\n", domains,
              cache->claims(), steps, statuses, PeakResident().c_str());
  return steps == 0 && statuses == domains / 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  // Otherwise memory depends on how the kernel of the machine is set up.
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return EXIT_FAILURE;
  if (word == "make") {
    fixed_world::Make(".");
  } else if (word == "run") {
    return Run() ? EXIT_SUCCESS : EXIT_FAILURE;
  } else {
    std::fprintf(stderr, "cdom-fixed-world: make or run\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

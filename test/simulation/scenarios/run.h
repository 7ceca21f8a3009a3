// Runs of the simulation: one, or one for each fault and request.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/scenarios/run_spec.h"
#include "test/simulation/scenarios/world.h"

namespace simulation {

Outcome Execute(const RunSpec& spec, bool trace = false);

// A run that was executed; `spec` executes it again.
struct RunResult {
  RunSpec spec = {};
  Outcome outcome = {};
  std::size_t fault_number = 0;  // Its place in the faults of the sweep.
};

// The stale kinds after a fault (by plural: "nodes+pods"), and by how many writes. An age of 0
// means since the start of the run. Empty if none.
struct Stale {
  std::string kinds = {};
  int age = 0;
};

// A fault and the stale kinds: the same at each request, or drawn for each.
struct FaultSpec {
  using Draw = std::function<Stale(int at)>;
  FaultSpec(Fault what, std::string kinds = {}, int age = 0)
      : fault(what), stale([what_is = Stale{std::move(kinds), age}](int) { return what_is; }) {}
  FaultSpec(Fault what, Draw draw) : fault(what), stale(std::move(draw)) {}
  // Applies the fault to openings of watches, not to other requests.
  static FaultSpec AtWatches(Fault what) {
    FaultSpec spec = what;
    spec.at_watches = true;
    return spec;
  }
  Fault fault = Fault::kNone;
  Draw stale = {};
  bool at_watches = false;
};

// Returns one run for each pair of a request of `base` and a fault that applies there, in the order
// of the requests. The last result is the run without a fault; it has the first fault at request 0.
// A run with a fault starts like the run without, so it branches off from that run at its request.
//
// With `every` n, each fault is tried at one of n successive requests, and different faults use
// different ones. `base` has neither a fault nor a stale kind.
std::vector<RunResult> Sweep(const RunSpec& base, std::vector<FaultSpec> faults, int every = 1,
                             bool trace = false);

}  // namespace simulation

// Whole lives in the simulation: one plan, or a plan and every strike at every request of it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/scenarios/scenario.h"
#include "test/simulation/scenarios/world.h"

namespace simulation {

[[nodiscard]] Outcome Live(const Plan& plan, bool trace = false);

// A life that was lived, and the plan that lives it again.
struct Life {
  Plan plan = {};
  Outcome outcome = {};
  std::size_t blow = 0;  // Of a sweep's: which.
};

// What is old after a strike: of kinds by plural ("nodes+pods"; empty: nothing), and by how many
// writes; 0: as old as the life.
struct Stale {
  std::string kinds = {};
  int age = 0;
};

// What strikes, and what is old then: the same at each request, or what is drawn for it.
struct Blow {
  using Draw = std::function<Stale(int at)>;
  Blow(Strike what, std::string kinds = {}, int age = 0)
      : strike(what), stale([what_is = Stale{std::move(kinds), age}](int) { return what_is; }) {}
  Blow(Strike what, Draw draw) : strike(what), stale(std::move(draw)) {}
  // At openings of watches, not at other requests.
  [[nodiscard]] static Blow AtWatches(Strike what) {
    Blow blow = what;
    blow.at_watches = true;
    return blow;
  }
  Strike strike = Strike::kNone;
  Draw stale = {};
  bool at_watches = false;
};

// The lives in which one of `blows` hits something, for each request of the life without: in the
// order of the requests, and last the life that none hits, under the first blow at request 0. A
// life begins as the one that is not struck, so it branches off from that at its request.
//
// With `every` n, of each n requests in a row a blow is tried at one, each blow at another than
// the one before it. `base` has neither strike nor stale kind.
[[nodiscard]] std::vector<Life> Sweep(const Plan& base, std::vector<Blow> blows, int every = 1,
                                      bool trace = false);

}  // namespace simulation

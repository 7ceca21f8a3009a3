// Judges a life while it is lived. What it has seen it need not see again, so a branch of a life
// goes on with its trunk's judgement.
//
// For one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "test/simulation/oracles/oracles.h"
#include "test/simulation/oracles/truth.h"

namespace simulation {

using MakeOnlooker = Onlooker (*)(const Scene& scene);

class Judge {
 public:
  // By all oracles of safety. What is passed outlives it.
  Judge(const ApiServer& server, const Suspects& suspects);
  Judge(const ApiServer& server, const Suspects& suspects,
        const std::vector<MakeOnlooker>& oracles);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // Shows the oracles what came about since it looked last.
  void Look();
  // What is wrong, in the order in which it was found, if this is the end.
  [[nodiscard]] Violations Conclude();

 private:
  void LookAtChanges(Revision up_to);

  const ApiServer& server_;
  Violations violations_;
  std::vector<Onlooker> oracles_;
  Truth truth_;
  std::size_t changes_ = 0;   // That it has seen.
  std::size_t requests_ = 0;  // The same.
};

}  // namespace simulation

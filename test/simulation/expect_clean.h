// What both sweeps expect of their lives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "test/simulation/life.h"

namespace simulation {

// 1; or more where a life takes many times as long, under sanitizers: then this many requests share
// a blow that each gets elsewhere. Set by CMake.
inline constexpr int kCoarser = CDOM_SWEEP_COARSER;

inline void ExpectClean(const std::vector<Life>& lives, int struck_min) {
  int struck = 0;
  for (const auto& [plan, outcome] : lives) {
    struck += outcome.struck ? 1 : 0;
    if (outcome.violations.empty()) continue;
    ADD_FAILURE() << ToString(plan) << ": " << outcome.violations.front()
                  << "\n  replay: build/dev/bin/simulate " << ToString(plan);
  }
  // A sweep over nothing would be green as well.
  EXPECT_GE(struck, std::min(struck_min, std::max(struck_min / kCoarser, 1)));
  std::cerr << "[ lives    ] " << lives.size() << " lives, " << struck << " struck\n";
}

}  // namespace simulation

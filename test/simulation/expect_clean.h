// What both sweeps expect of their lives.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <vector>

#include "test/simulation/life.h"

namespace simulation {

inline void ExpectClean(const std::vector<Life>& lives, int struck_min) {
  int struck = 0;
  for (const auto& [plan, outcome] : lives) {
    struck += outcome.struck ? 1 : 0;
    if (outcome.violations.empty()) continue;
    ADD_FAILURE() << ToString(plan) << ": " << outcome.violations.front()
                  << "\n  replay: build/dev/bin/simulate " << ToString(plan);
  }
  // A sweep over nothing would be green as well.
  EXPECT_GE(struck, struck_min);
  std::cerr << "[ lives    ] " << lives.size() << " lives, " << struck << " struck\n";
}

}  // namespace simulation

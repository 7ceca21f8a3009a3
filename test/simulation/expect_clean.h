// What both sweeps expect of their lives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "test/simulation/life.h"

namespace simulation {

// How thorough a sweep is. "all": every request of every life gets every blow, which takes hours. A
// number N: a sample that takes minutes, and N times as few of it. The usual one is from CMake: 1,
// or more where a life takes many times as long, under sanitizers.
inline const std::string_view kSweep = [] {
  const char* asked = std::getenv("CDOM_SWEEP");
  return asked == nullptr ? CDOM_SWEEP_COARSER : asked;
}();
inline const bool kEveryRequest = kSweep == "all";
inline const int kCoarser = kEveryRequest ? 1 : std::max(std::atoi(kSweep.data()), 1);

// Of a thin sample one sweep may strike nothing; all of them together may not.
class ThinSample final : public ::testing::Environment {
 public:
  void Add(int lives, int struck) {
    lives_ += lives;
    struck_ += struck;
  }
  void TearDown() override {
    const int least = kCoarser > 1 ? lives_ / 3 : 0;
    EXPECT_GE(struck_, least) << "so few of the lives were struck";
  }

 private:
  int lives_ = 0;
  int struck_ = 0;
};
inline ThinSample& thin_sample = *static_cast<ThinSample*>(
    ::testing::AddGlobalTestEnvironment(new ThinSample));  // GoogleTest deletes it.

template <typename Lives>
void ExpectClean(const Lives& lives, int struck_min) {
  int struck = 0;
  for (const auto& [plan, outcome] : lives) {
    struck += outcome.struck ? 1 : 0;
    if (outcome.violations.empty()) continue;
    ADD_FAILURE() << ToString(plan) << ": " << outcome.violations.front()
                  << "\n  replay: build/dev/bin/simulate " << ToString(plan);
  }
  // A sweep over nothing would be green as well.
  EXPECT_GE(struck, kCoarser == 1 ? struck_min : 0);
  thin_sample.Add(static_cast<int>(lives.size()), struck);
  std::cerr << "[ lives    ] " << lives.size() << " lives, " << struck << " struck\n";
}

}  // namespace simulation

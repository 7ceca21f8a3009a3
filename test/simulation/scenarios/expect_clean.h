// What both sweeps expect of their lives.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulation/scenarios/run.h"

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

// What the controller watches, and may see an old state of, by plural.
inline constexpr std::array kWatchedKinds = {"pods",
                                             "computedomains",
                                             "nodes",
                                             "daemonsets",
                                             "resourceclaimtemplates",
                                             "resourceclaims",
                                             "computedomaincliques",
                                             "resourceslices"};

// Seconds of processor that this program took, and the branches of its lives.
inline double Processor() {
  double seconds = 0;
  for (const int of : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used = {};
    if (getrusage(of, &used) != 0) continue;
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    }
  }
  return seconds;
}

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
    // scripts/test.sh adds these up, whichever lives they were.
    std::cerr << "[ sweep    ] " << Processor() << " s of processor\n";
  }

 private:
  int lives_ = 0;
  int struck_ = 0;
};
inline ThinSample& thin_sample = *static_cast<ThinSample*>(
    ::testing::AddGlobalTestEnvironment(new ThinSample));  // GoogleTest deletes it.

// How long the test has run.
inline double Elapsed() {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto began = test == nullptr ? now.count() : test->result()->start_timestamp();
  return std::max(static_cast<double>(now.count() - began) / 1000, 0.001);
}

template <typename Lives>
void ExpectClean(const Lives& lives, int struck_min) {
  int struck = 0;
  for (const auto& life : lives) {
    const auto& plan = life.plan;
    const auto& outcome = life.outcome;
    struck += outcome.struck ? 1 : 0;
    if (outcome.violations.empty()) continue;
    ADD_FAILURE() << ToString(plan) << ": " << outcome.violations.front()
                  << "\n  replay: scripts/build.sh dev simulate && build/dev/bin/simulate "
                  << ToString(plan);
  }
  // A sweep over nothing would be green as well.
  EXPECT_GE(struck, kCoarser == 1 ? struck_min : 0);
  // scripts/test.sh adds these up.
  std::cerr << "[ lives    ] " << lives.size() << " lives, " << struck << " struck, "
            << static_cast<int>(static_cast<double>(lives.size()) / Elapsed()) << " a second\n";
}

// How many requests, of those from 1 on, are the turn of the strike with that number where each
// takes one in `every`.
inline int TurnsOf(std::size_t strike, int requests, int every) {
  return (requests + static_cast<int>(strike)) / every - static_cast<int>(strike) / every;
}

// Of a strike that befalls any request no request is left out whose turn it is, and others find
// something, too, if they have so many turns.
template <typename AStrike>
void ExpectTurns(AStrike strike, bool befalls_any, std::ptrdiff_t struck, int turns, int enough,
                 const std::string& base) {
  if (befalls_any) {
    EXPECT_EQ(struck, turns) << ToString(strike) << " of " << base;
  } else if (turns >= enough) {
    EXPECT_GT(struck, 0) << ToString(strike) << " of " << base;
  }
}

// Whether it befalls any request, whatever there is.
inline bool StrikesAnything(const Blow& blow) {
  if (blow.strike == Strike::kWatchBreaks) return blow.at_watches;
  return blow.strike != Strike::kConflict && blow.strike != Strike::kUserDeletes &&
         blow.strike != Strike::kUserRecreates && blow.strike != Strike::kImexEnds &&
         blow.strike != Strike::kDaemonDies;
}

// Lives them, and counts.
inline std::vector<Life> ExpectSwept(const Plan& base, const std::vector<Blow>& blows, int every) {
  std::vector<Life> lives = Sweep(base, blows, every);
  ExpectClean(lives, 0);
  const auto all_struck =
      std::ranges::count_if(lives, [](const Life& life) { return life.outcome.struck; });
  thin_sample.Add(static_cast<int>(lives.size()), static_cast<int>(all_struck));
  const Outcome& not_struck = lives.back().outcome;
  for (std::size_t i = 0; i < blows.size(); ++i) {
    const int requests = blows[i].at_watches ? not_struck.watches : not_struck.requests;
    const auto struck = std::ranges::count_if(
        lives, [&](const Life& life) { return life.outcome.struck && life.blow == i; });
    ExpectTurns(blows[i].strike, StrikesAnything(blows[i]), struck, TurnsOf(i, requests, every), 10,
                ToString(base));
  }
  EXPECT_EQ(all_struck + 1, std::ssize(lives)) << "a life was not struck that should have been";
  return lives;
}

}  // namespace simulation

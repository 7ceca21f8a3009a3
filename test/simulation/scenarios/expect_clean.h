// The expectations of all sweeps.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulation/scenarios/run.h"

namespace simulation {

// Size of sweeps. "all": every fault at every request of every run, which takes over an hour. A
// number N: one in N of a sample that takes minutes. The default is from CMake: 1, or more under
// sanitizers, where a run takes many times as long.
inline const std::string_view kSweep = [] {
  const char* asked = std::getenv("CDOM_SWEEP");
  return asked == nullptr ? CDOM_SWEEP_COARSER : asked;
}();
inline const bool kEveryRequest = kSweep == "all";
inline const int kCoarser = kEveryRequest ? 1 : std::max(std::atoi(kSweep.data()), 1);

// Returns the seed of a random run. With CDOM_SEED=N it differs for each N, so that a search finds
// what the same seeds at every commit cannot. A failure prints the run with its seed. N has at most
// eight digits.
inline std::uint64_t SeedOf(std::uint64_t seed) {
  static const std::uint64_t first = [] {
    const char* asked = std::getenv("CDOM_SEED");
    return asked == nullptr ? 0 : std::strtoull(asked, nullptr, 10);
  }();
  return first + seed;
}

// Plurals of the kinds that the controller watches, and may see in a stale state.
inline constexpr std::array kWatchedKinds = {"pods",
                                             "computedomains",
                                             "nodes",
                                             "daemonsets",
                                             "resourceclaimtemplates",
                                             "resourceclaims",
                                             "computedomaincliques",
                                             "resourceslices"};

// Returns the CPU seconds of this program and of the branches of its runs.
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

// In a small sample one sweep may have no run with a fault. All sweeps together must have some.
class ThinSample final : public ::testing::Environment {
 public:
  void Add(int runs, int faulted) {
    runs_ += runs;
    faulted_ += faulted;
  }
  void TearDown() override {
    const int least = kCoarser > 1 ? runs_ / 3 : 0;
    EXPECT_GE(faulted_, least) << "so few of the runs had a fault";
    // scripts/test.sh adds these up.
    std::cerr << "[ sweep    ] " << Processor() << " s of processor\n";
  }

 private:
  int runs_ = 0;
  int faulted_ = 0;
};
inline ThinSample& thin_sample = *static_cast<ThinSample*>(
    ::testing::AddGlobalTestEnvironment(new ThinSample));  // GoogleTest deletes it.

// Returns the name of a test's parameter from scenario and membership writer:
// "CreateReadyDelete_controller". GoogleTest allows only letters, digits and underscores.
inline std::string ParameterName(const std::string& scenario, bool controller_writes) {
  std::string name;
  bool starts_word = true;
  for (const char c : scenario) {
    if (c != '-') name += starts_word ? static_cast<char>(std::toupper(c)) : c;
    starts_word = c == '-';
  }
  return name + "_" + WriterName(controller_writes);
}

// Returns how long the test has run, in seconds.
inline double Elapsed() {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto began = test == nullptr ? now.count() : test->result()->start_timestamp();
  return std::max(static_cast<double>(now.count() - began) / 1000, 0.001);
}

// A known violation and its reason. `simulate` still reports it.
struct Known {
  std::string_view oracle = {};
  Fault fault = Fault::kNone;
  bool is_stale = false;  // The process sees a stale state of a kind.
  std::string_view reason = {};
};
inline constexpr std::array kKnown = {Known{
    "S21", Fault::kCrashAfter, true,
    "Stricter than life: the simulated server answers the first LIST of a process that starts "
    "with an old state, so that members that serve look as they did before. Kubernetes "
    "answers a LIST without a resourceVersion, as ours are, with the most recent state."}};

inline bool IsKnown(const RunSpec& spec, const std::string& violation) {
  return std::ranges::any_of(kKnown, [&](const Known& one) {
    return violation.starts_with(one.oracle) && spec.fault == one.fault &&
           spec.stale.empty() != one.is_stale;
  });
}
template <typename Spec>
bool IsKnown(const Spec& /*of a plugin*/, const std::string& /*violation*/) {
  return false;
}

// Returns the command that repeats the run.
inline std::string Replay(const std::string& spec) {
  return "scripts/build.sh dev simulate && build/dev/bin/simulate " + spec;
}

template <typename Runs>
void ExpectClean(const Runs& runs, int faulted_min) {
  int faulted = 0;
  for (const auto& run : runs) {
    const auto& spec = run.spec;
    const auto& outcome = run.outcome;
    faulted += outcome.faulted ? 1 : 0;
    const auto news = std::ranges::find_if_not(
        outcome.violations, [&](const std::string& violation) { return IsKnown(spec, violation); });
    if (news == outcome.violations.end()) continue;
    ADD_FAILURE() << ToString(spec) << ": " << *news << "\n  replay: " << Replay(ToString(spec));
  }
  // A sweep over nothing would be green too.
  EXPECT_GE(faulted, kCoarser == 1 ? faulted_min : 0);
  // scripts/test.sh adds these up.
  std::cerr << "[ runs     ] " << runs.size() << " runs, " << faulted << " with a fault, "
            << static_cast<int>(static_cast<double>(runs.size()) / Elapsed()) << " a second\n";
}

// Returns how many of `requests` get the fault with that number, if each fault gets one in `every`.
inline int TurnsOf(std::size_t fault, int requests, int every) {
  return (requests + static_cast<int>(fault)) / every - static_cast<int>(fault) / every;
}

// Expects a fault that applies to any request to happen at each of its turns. Expects any other
// fault to happen at least once if it had `enough` turns.
template <typename AFault>
void ExpectTurns(AFault fault, bool is_any, std::ptrdiff_t faulted, int turns, int enough,
                 const std::string& base) {
  if (is_any) {
    EXPECT_EQ(faulted, turns) << ToString(fault) << " of " << base;
  } else if (turns >= enough) {
    EXPECT_GT(faulted, 0) << ToString(fault) << " of " << base;
  }
}

// Returns whether it applies to any request, independent of the cluster's state.
inline bool AffectsAnyRequest(const FaultSpec& spec) {
  if (spec.fault == Fault::kWatchBreaks) return spec.at_watches;
  return spec.fault != Fault::kConflict && spec.fault != Fault::kUserDeletes &&
         spec.fault != Fault::kUserRecreates && spec.fault != Fault::kImexEnds &&
         spec.fault != Fault::kDaemonDies && spec.fault != Fault::kRestored;
}

// Sweeps, expects all runs to be clean, and counts the faults.
inline std::vector<RunResult> ExpectSwept(const RunSpec& base, const std::vector<FaultSpec>& faults,
                                          int every) {
  std::vector<RunResult> runs = Sweep(base, faults, every);
  ExpectClean(runs, 0);
  const auto all_faulted =
      std::ranges::count_if(runs, [](const RunResult& run) { return run.outcome.faulted; });
  thin_sample.Add(static_cast<int>(runs.size()), static_cast<int>(all_faulted));
  const Outcome& without_fault = runs.back().outcome;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const int requests = faults[i].at_watches ? without_fault.watches : without_fault.requests;
    const auto faulted = std::ranges::count_if(
        runs, [&](const RunResult& run) { return run.outcome.faulted && run.fault_number == i; });
    ExpectTurns(faults[i].fault, AffectsAnyRequest(faults[i]), faulted, TurnsOf(i, requests, every),
                10, ToString(base));
  }
  EXPECT_EQ(all_faulted + 1, std::ssize(runs)) << "a run had no fault that should have had one";
  return runs;
}

}  // namespace simulation

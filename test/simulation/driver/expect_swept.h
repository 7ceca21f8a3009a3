// The expectations of the sweeps over a driver's plugins.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "test/simulation/driver/scenario.h"
#include "test/simulation/scenarios/expect_clean.h"

namespace simulation {

// Requests and edits in a row share one run of each fault.
inline int SampledEvery() {
  constexpr int kEvery = 5;
  const int every = kEveryRequest ? 1 : kEvery * kCoarser;
  std::cerr << "[ sampled  ] each fault at one request or edit in " << every << "\n";
  return every;
}

// Whether it can happen at any request and any edit.
inline bool AppliesToAnything(PluginFault fault) {
  switch (fault) {
    case PluginFault::kForbidden:
    case PluginFault::kConflict:
    case PluginFault::kTorn:
    case PluginFault::kKubeletCancels:
    case PluginFault::kCallComesAgain:
    case PluginFault::kKubeletForgets:
    case PluginFault::kFilesLost:
    case PluginFault::kPluginRolls:
    case PluginFault::kLockHeld:
    case PluginFault::kDriverUnreadable:
    case PluginFault::kGpuLost:
      return false;
    default:
      return true;
  }
}

// As the other sweeps do. Only a write to the API can be a conflict, and few requests are one.
inline void ExpectSwept(const PluginRunSpec& base, int every) {
  const std::vector<PluginRunResult> results = SweepPlugins(base, every);
  ExpectClean(results, 0);
  const auto all_faulted = std::ranges::count_if(
      results, [](const PluginRunResult& result) { return result.outcome.faulted; });
  thin_sample.Add(static_cast<int>(results.size()), static_cast<int>(all_faulted));
  constexpr int kEnough = 20;
  constexpr int kEnoughWrites = 2;
  const int requests = results.back().outcome.requests;
  const int writes = results.back().outcome.writes;
  const auto count = [&](PluginFault fault, bool stale) {
    return std::ranges::count_if(results, [&](const PluginRunResult& result) {
      return result.outcome.faulted && result.spec.fault == fault && result.spec.stale == stale;
    });
  };
  const std::vector<PluginFault>& faults = base.program->faults;
  std::string struck;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const PluginFault fault = faults[i];
    struck += " " + ToString(fault) + " " + std::to_string(count(fault, false));
    const bool is_of_writes = fault == PluginFault::kConflict;
    ExpectTurns(fault, AppliesToAnything(fault), count(fault, false),
                TurnsOf(i, is_of_writes ? writes : requests, every),
                is_of_writes ? kEnoughWrites : kEnough, ToString(base));
  }
  std::cerr << "[ faults   ]" << struck << "\n";
  ExpectTurns(PluginFault::kCrashAfter, true, count(PluginFault::kCrashAfter, true),
              TurnsOf(0, requests, every), kEnough, ToString(base));
}

}  // namespace simulation

// Everything that decides one simulated run of kubelet plugins.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace simulation {

// What goes wrong at one request, or one edit of the disk.
enum class PluginFault {
  kNone,
  kCrashBefore,       // The plugin's process dies; nothing was done.
  kCrashAfter,        // It was done, and the process dies before it knows.
  kFails,             // Nothing is done: 500, or a full disk.
  kReplyLost,         // It was done, and the process is told that it failed.
  kForbidden,         // 403. Requests only.
  kConflict,          // 409. Writes to the API only.
  kTorn,              // Half of the checkpoint is written, and the process dies.
  kDomainDeleted,     // The first domain is gone at once.
  kReboot,            // The node boots again; its CDI specs are gone.
  kRebootKeepsSpecs,  // The same where these lie on the disk.
  kKubeletRestarts,   // Its open calls go on without it, and it calls again.
  kKubeletCancels,    // It gives up each prepare that is under way there, and unprepares the claim;
                      // other pods come for these claims.
  kWatchesExpire,     // Every watch is 410.
};
inline constexpr std::array kAllPluginFaults = {PluginFault::kCrashBefore,
                                                PluginFault::kCrashAfter,
                                                PluginFault::kFails,
                                                PluginFault::kReplyLost,
                                                PluginFault::kForbidden,
                                                PluginFault::kConflict,
                                                PluginFault::kTorn,
                                                PluginFault::kDomainDeleted,
                                                PluginFault::kReboot,
                                                PluginFault::kRebootKeepsSpecs,
                                                PluginFault::kKubeletRestarts,
                                                PluginFault::kKubeletCancels,
                                                PluginFault::kWatchesExpire};

// Equal specs give equal runs.
struct PluginRunSpec {
  std::string scenario = "one-domain";  // See scenarios.cc.
  PluginFault fault = PluginFault::kNone;
  int at = 0;  // The request or edit at which it goes wrong, from 1, of all but watches.
  // The process that follows a crash first sees domains and cliques as when the run began.
  bool stale = false;
  std::string mutant = {};
};

struct PluginOutcome {
  std::vector<std::string> violations = {};
  bool faulted = false;
  int requests = 0;  // And edits.
  // What was left on the nodes each time that all had come to rest.
  std::vector<std::string> rests = {};
  std::vector<std::string> trace = {};
};

[[nodiscard]] std::string ToString(PluginFault fault);
// "plugin scenario=one-domain fault=torn at=17": as `simulate` reads it.
[[nodiscard]] std::string ToString(const PluginRunSpec& spec);
// Reads also the older form "plugin workload=P1 strike=torn at=17".
[[nodiscard]] PluginRunSpec ParsePluginRunSpec(const std::vector<std::string>& words,
                                               std::string& error);

[[nodiscard]] PluginOutcome Execute(const PluginRunSpec& spec, bool trace = false);

struct PluginRunResult {
  PluginRunSpec spec = {};
  PluginOutcome outcome = {};
};
// Each fault at one of each `every` requests and edits in a row, each at another than the one
// before it; and last the run without a fault. A run that recovers leaves what that one leaves.
[[nodiscard]] std::vector<PluginRunResult> SweepPlugins(const PluginRunSpec& base, int every);

}  // namespace simulation

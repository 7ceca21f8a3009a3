// Everything that decides one simulated run of kubelet plugins.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace simulation {

// A fault at one request, or at one edit of the disk.
enum class PluginFault {
  kNone,
  kCrashBefore,       // The process dies before the operation takes effect.
  kCrashAfter,        // The operation takes effect, and the process dies before it knows.
  kFails,             // The operation fails: 500, or a full disk.
  kReplyLost,         // The operation takes effect, and the process gets an error.
  kForbidden,         // 403. Requests only.
  kConflict,          // 409. Writes to the API only.
  kTorn,              // Half of the checkpoint is left, and the process dies.
  kDomainDeleted,     // The first domain is deleted at once.
  kReboot,            // The node reboots, and its CDI specs are lost.
  kRebootKeepsSpecs,  // The node reboots, and its CDI specs stay.
  kKubeletRestarts,   // Its open calls continue, and it calls again.
  kKubeletCancels,    // It cancels each prepare in progress there, and unprepares the claim;
                      // other pods then use these claims.
  kWatchesExpire,     // Every watch is 410.
  kCallComesAgain,    // Each prepare in progress there is called once more, a minute later.
  kKubeletForgets,    // It forgets the pods there. Other pods replace them.
  kFilesLost,         // CDI files and folders of domains there are deleted.
  kDriverReloads,     // Its devices get other numbers.
  kPluginRolls,       // Another process of the plugin starts there, and this one serves out.
  kLockHeld,          // Another program holds the lock for 2 seconds.
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
                                                PluginFault::kWatchesExpire,
                                                PluginFault::kCallComesAgain,
                                                PluginFault::kKubeletForgets,
                                                PluginFault::kFilesLost,
                                                PluginFault::kDriverReloads,
                                                PluginFault::kPluginRolls,
                                                PluginFault::kLockHeld};

// Equal specs give equal runs.
struct PluginRunSpec {
  std::string scenario = "one-domain";  // See scenarios.cc.
  PluginFault fault = PluginFault::kNone;
  int at = 0;  // Number of the request or edit with the fault, from 1, without watches.
  // After a crash the next process first sees domains and cliques as at the start of the run.
  bool stale = false;
  // On each node a rolling update of the plugin begins a second after the start of the run.
  bool is_rolling = false;
  std::string mutant = {};
};

struct PluginOutcome {
  std::vector<std::string> violations = {};
  bool faulted = false;
  int requests = 0;  // Requests and edits,
  int writes = 0;    // and of these, writes to the API.
  // What was left on the nodes at each rest.
  std::vector<std::string> rests = {};
  std::vector<std::string> trace = {};
};

std::string ToString(PluginFault fault);
// Returns "plugin scenario=one-domain fault=torn at=17", which `simulate` reads.
std::string ToString(const PluginRunSpec& spec);
// On error sets `error`, and the spec is invalid.
PluginRunSpec ParsePluginRunSpec(const std::vector<std::string>& words, std::string& error);

PluginOutcome Execute(const PluginRunSpec& spec, bool trace = false);

struct PluginRunResult {
  PluginRunSpec spec = {};
  PluginOutcome outcome = {};
};
// Runs each fault at one of every `every` successive requests and edits; different faults use
// different ones. The last run is without a fault. A run that recovers must leave the same state as
// that one.
std::vector<PluginRunResult> SweepPlugins(const PluginRunSpec& base, int every);

}  // namespace simulation

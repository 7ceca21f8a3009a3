// Everything that decides one simulated run of the kubelet plugins of a driver.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
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
  kDriverUnreadable,  // NVIDIA's driver cannot be read for 3 minutes.
  kGpuLost,           // A GPU is lost, and comes back after 3 minutes.
};

struct PluginRunSpec;
struct PluginOutcome {
  std::vector<std::string> violations = {};
  bool faulted = false;
  int requests = 0;  // Requests and edits,
  int writes = 0;    // and of these, writes to the API.
  // What was left on the nodes at each rest.
  std::vector<std::string> rests = {};
  std::vector<std::string> trace = {};
};

// The plugins of one driver, with their scenarios and mutants.
struct PluginProgram {
  std::string name = {};  // The first word of a run.
  std::vector<PluginFault> faults = {};
  std::function<bool(const std::string& name)> has_scenario = {};
  std::function<bool(const std::string& name)> has_mutant = {};
  std::function<PluginOutcome(const PluginRunSpec& spec, bool trace)> execute = {};
};

// Equal specs give equal runs.
struct PluginRunSpec {
  const PluginProgram* program = nullptr;
  std::string scenario = {};
  PluginFault fault = PluginFault::kNone;
  int at = 0;  // Number of the request or edit with the fault, from 1, without watches.
  // After a crash the next process first sees the cluster as at the start of the run.
  bool stale = false;
  // On each node a rolling update of the plugin begins a second after the start of the run.
  bool is_rolling = false;
  std::string mutant = {};
};

std::string ToString(PluginFault fault);
// Returns "plugin scenario=one-domain fault=torn at=17", which `simulate` reads.
std::string ToString(const PluginRunSpec& spec);
// `words` follow the program's name. On error sets `error`, and the spec is invalid.
PluginRunSpec ParsePluginRunSpec(const PluginProgram& program,
                                 const std::vector<std::string>& words, std::string& error);

// REQUIRES: `spec.program` is set.
PluginOutcome Execute(const PluginRunSpec& spec, bool trace = false);

struct PluginRunResult {
  PluginRunSpec spec = {};
  PluginOutcome outcome = {};
};
// Runs each fault at one of every `every` successive requests and edits; different faults use
// different ones. The last run is without a fault. A run that recovers must leave the same state as
// that one.
std::vector<PluginRunResult> SweepPlugins(const PluginRunSpec& base, int every);

// A part of a scenario in the world of a driver.
template <typename World>
struct PluginPhase {
  std::function<void(World&)> begin = {};
  std::chrono::seconds lasts{0};
  // The users' pods that must be prepared by its end, and no others. Empty if not checked.
  std::optional<std::set<std::string>> prepared = {};
  bool any_one = false;  // Exactly one pod must be, whichever it is.
  bool is_last = false;
  // Faults after which other pods may be prepared.
  std::set<PluginFault> except = {};
};

// README.md lists the scenarios; `test/lint/lint.sh scenarios` keeps both equal.
template <typename World>
struct PluginScenario {
  const char* name = "";
  const char* what = "";
  std::vector<PluginPhase<World>> phases = {};
};

// Null if none has the name.
template <typename Named>
const Named* FindNamed(const std::vector<Named>& all, const std::string& name) {
  for (const Named& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace simulation

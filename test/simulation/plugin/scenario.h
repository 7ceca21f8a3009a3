// All that decides one life of kubelet plugins in the simulation.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace simulation {

// What happens at the request or the edit of the disk that is struck.
enum class PluginStrike {
  kNone,
  kCrashBefore,       // The plugin's process dies; nothing was done.
  kCrashAfter,        // It was done, and the process dies before it knows.
  kFails,             // Nothing is done: 500, or a full disk.
  kReplyLost,         // It was done, and the process is told that it failed.
  kForbidden,         // 403. Requests only.
  kConflict,          // 409. Writes to the API only.
  kTorn,              // Half of the checkpoint is written, and the process dies.
  kDomainDeleted,     // The first domain is gone at once.
  kReboot,            // The node boots anew; its CDI specs are gone.
  kRebootKeepsSpecs,  // The same where these lie on the disk.
  kKubeletRestarts,   // What it asked goes on without it, and it asks again.
  kWatchesExpire,     // Every watch is 410.
};
inline constexpr std::array kAllPluginStrikes = {PluginStrike::kCrashBefore,
                                                 PluginStrike::kCrashAfter,
                                                 PluginStrike::kFails,
                                                 PluginStrike::kReplyLost,
                                                 PluginStrike::kForbidden,
                                                 PluginStrike::kConflict,
                                                 PluginStrike::kTorn,
                                                 PluginStrike::kDomainDeleted,
                                                 PluginStrike::kReboot,
                                                 PluginStrike::kRebootKeepsSpecs,
                                                 PluginStrike::kKubeletRestarts,
                                                 PluginStrike::kWatchesExpire};

// Equal plans give equal lives.
struct PluginPlan {
  std::string workload = "P1";  // See world.cc.
  PluginStrike fault = PluginStrike::kNone;
  int at = 0;  // The request or edit that is struck, from 1, of all but watches.
  // The process that follows a crash first sees domains and cliques as when the life began.
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

[[nodiscard]] std::string ToString(PluginStrike strike);
// "plugin workload=P1 strike=torn at=17": as `simulate` takes it.
[[nodiscard]] std::string ToString(const PluginPlan& plan);
[[nodiscard]] PluginPlan ParsePluginPlan(const std::vector<std::string>& words, std::string& error);

[[nodiscard]] PluginOutcome Execute(const PluginPlan& plan, bool trace = false);

struct PluginLife {
  PluginPlan spec = {};
  PluginOutcome outcome = {};
};
// Each strike at one of each `every` requests and edits in a row, each at another than the one
// before it; and last the life that none hits. One that is made good leaves what that life leaves.
[[nodiscard]] std::vector<PluginLife> SweepPlugins(const PluginPlan& base, int every);

}  // namespace simulation

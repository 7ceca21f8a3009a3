// What must be so before IMEX can run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "node/daemon/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace imex_daemon {

// Where they were found.
struct Programs {
  std::string imex = {};
  std::string ctl = {};
};

// What to do where the hosts file cannot be written.
inline constexpr const char* kHostsAdvice =
    "IMEX finds its peers by it: let the container write it";

// Finds the programs, writes IMEX's configuration and nodes file, and sees that the hosts file can
// be written. An error says what to do. `search` is a PATH.
[[nodiscard]] base::Result<Programs> Prepare(const Settings& settings, const std::string& search);

// Asks `ctl` whether IMEX is ready, again and again for as long as `patience`; what else it says,
// if it is not. Without a fabric there is none, which is as well. `environment` is that of the
// control program.
[[nodiscard]] base::Result<void> Check(const Settings& settings, const std::string& search,
                                       const std::vector<std::string>& environment,
                                       std::chrono::milliseconds patience,
                                       const base::Clock& clock);

// How patient who asks for readiness is, a process of such an age being the one that serves. IMEX
// begins to serve soon after it, and a kubelet that was told no asks again ten seconds later.
[[nodiscard]] std::chrono::milliseconds PatienceFor(std::chrono::milliseconds age);
// Of the process whose `stat` this is, as of proc(5), where the machine is up for `uptime`, of its
// file of that name. Nothing: they cannot be read.
[[nodiscard]] std::optional<std::chrono::milliseconds> AgeOf(const std::string& stat,
                                                             const std::string& uptime,
                                                             long ticks_per_second);

}  // namespace imex_daemon

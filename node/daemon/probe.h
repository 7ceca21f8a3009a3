// The readiness probe: asks whether IMEX is ready.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "node/daemon/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace imex_daemon {

// Asks nvidia-imex-ctl, with `environment`, whether IMEX is ready, and asks again for as long as
// `patience`. The error is its last answer. Succeeds if the node has no fabric: then there is no
// IMEX.
base::Result<void> Check(const Settings& settings, const std::string& search,
                         const std::vector<std::string>& environment,
                         std::chrono::milliseconds patience, const base::Clock& clock);

// Returns how long a readiness probe waits for IMEX, given the age of the daemon's process. Soon
// after that process starts IMEX becomes ready, and after a "no" the kubelet asks again only 10 s
// later.
std::chrono::milliseconds PatienceFor(std::chrono::milliseconds age);
// Returns the age of a process. `stat` and `uptime` are the texts of /proc/PID/stat and
// /proc/uptime, see proc(5). Empty if they cannot be parsed.
std::optional<std::chrono::milliseconds> AgeOf(const std::string& stat, const std::string& uptime,
                                               long ticks_per_second);

}  // namespace imex_daemon

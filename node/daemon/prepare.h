// What must be so before IMEX can run.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "node/daemon/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace imexd {

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

// Asks `ctl` whether IMEX is ready; what else it says, if it is not. Without a fabric there is
// none, which is as well. `environment` is that of the control program.
[[nodiscard]] base::Result<void> Check(const Settings& settings, const std::string& search,
                                       const std::vector<std::string>& environment,
                                       const base::Clock& clock, const std::stop_token& stop);

}  // namespace imexd

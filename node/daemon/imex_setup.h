// Sets a container up for IMEX: its configuration and its nodes file.
#pragma once

#include <string>

#include "node/daemon/settings.h"
#include "pkg/base/result.h"

namespace imex_daemon {

// Paths of the programs that were found.
struct Programs {
  std::string imex = {};
  std::string ctl = {};
};

// Advice if the hosts file cannot be written.
inline constexpr const char* kHostsAdvice =
    "IMEX finds its peers by it: let the container write it";

// Finds the programs, writes IMEX's configuration and nodes file, and checks that the hosts file is
// writable. An error says what to do. `search` is a PATH.
base::Result<Programs> Prepare(const Settings& settings, const std::string& search);

// Finds a program of IMEX. An error says where it comes from.
base::Result<std::string> FindImex(const std::string& name, const std::string& search);

}  // namespace imex_daemon

// Check of this process's user at the API server, and its deletions.
#pragma once

#include <stop_token>
#include <string>

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace process {

// Logs the user. Logs a warning, with the fix, if the admission policy cdom-child-deletion is in
// force and refuses deletions of this user. Returns the user. Empty if the API server does not
// tell. Sends three requests, with a timeout of 3 s each; none after `stop` was requested.
std::string CheckIdentity(http::Transport& transport, base::Logger& logger,
                          const std::stop_token& stop);

}  // namespace process

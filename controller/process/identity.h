// Which user this process is to the API server, and what that means for its deletions.
#pragma once

#include <stop_token>
#include <string>

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace process {

// Logs the user, with a warning and the remedy if the admission policy cdom-child-deletion is in
// force and refuses this user's deletions. Returns the user. Empty if the API server does not tell.
// Three requests, of 3 s at most; none after a request of `stop`.
[[nodiscard]] std::string CheckIdentity(http::Transport& transport, base::Logger& logger,
                                        const std::stop_token& stop);

}  // namespace process

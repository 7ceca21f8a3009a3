// Check of driver namespaces without the label that policies need.
// Without it, cdom's admission policies treat the namespace as a tenant's, and admit no daemon's
// claim.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace process {

// Logs a warning, with the fix, for each existing namespace without the label. Logs at debug level
// if a namespace cannot be read. Sends one request per namespace, with a timeout of 3 s; none after
// `stop` was requested.
void WarnOfUnlabelled(const std::vector<std::string>& driver_namespaces, http::Transport& transport,
                      base::Logger& logger, const std::stop_token& stop);

}  // namespace process

// Checks of the cluster at the start, which only log. Each request has a timeout of 3 s, and none
// is sent after `stop` was requested.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace process {

// Logs the user. Logs a warning, with the fix, if the admission policy cdom-child-deletion is in
// force and refuses deletions of this user. Returns the user. Empty if the API server does not
// tell. Sends three requests.
std::string CheckIdentity(http::Transport& transport, base::Logger& logger,
                          const std::stop_token& stop);

// Logs a warning, with the fix, for each existing driver namespace without the label that policies
// need. They treat such a namespace as a tenant's, and admit no daemon's claim. Logs at debug level
// if a namespace cannot be read. Sends one request per namespace.
void WarnOfUnlabelled(const std::vector<std::string>& driver_namespaces, http::Transport& transport,
                      base::Logger& logger, const std::stop_token& stop);

}  // namespace process

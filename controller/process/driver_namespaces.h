// Namespaces of the driver that our admission policies take for a tenant's, since they lack the
// label by which the policies know them: no daemon's claim is admitted there.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace process {

// Logs a warning with the remedy for each namespace that is there without the label; one that
// cannot be read is mentioned at debug level. One request for each, of 3 s at most; none once
// `stop` asks to end.
void WarnOfUnlabelled(const std::vector<std::string>& driver_namespaces, http::Transport& transport,
                      base::Logger& logger, const std::stop_token& stop);

}  // namespace process

// The log's line of a request.
#pragma once

#include "pkg/base/log.h"
#include "pkg/http/transport.h"

namespace http {

// Logs verb, path, status and milliseconds at LogLevel::kRequests. Neither headers nor bodies: they
// have secrets.
void LogExchange(const ExchangeReport& report, base::Logger& logger);

}  // namespace http

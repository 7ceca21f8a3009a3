#include "pkg/http/exchange_log.h"

#include <chrono>
#include <string>

namespace http {

void LogExchange(const ExchangeReport& report, base::Logger& logger) {
  constexpr base::LogLevel kLevel = base::LogLevel::kRequests;
  if (!logger.Writes(kLevel)) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(report.took);
  logger.Log(kLevel, "Response",
             {{"verb", std::string(ToString(report.method))},
              {"path", std::string(report.path)},
              {"status", report.status == 0 ? "none" : std::to_string(report.status)},
              {"milliseconds", std::to_string(took.count())}});
}

}  // namespace http

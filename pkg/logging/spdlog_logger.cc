#include "pkg/logging/spdlog_logger.h"

#include <utility>

#include "pkg/logging/logger.h"

namespace logging {

SpdlogLogger::SpdlogLogger(MakeLine make_line, int verbosity, const base::Clock& clock,
                           std::shared_ptr<spdlog::sinks::sink> sink)
    : make_line_(make_line), verbosity_(verbosity), clock_(clock), logger_("", std::move(sink)) {
  logger_.set_pattern("%v");
  logger_.set_level(spdlog::level::trace);  // What is let through is decided in Log().
}

void SpdlogLogger::Log(base::LogLevel level, std::string_view message,
                       std::initializer_list<base::LogField> fields) {
  if (level == base::LogLevel::kDebug && verbosity_ < kDebugVerbosity) return;
  const std::string line =
      make_line_({.level = level, .time = clock_.Wall(), .message = message, .fields = fields});
  logger_.log(spdlog::level::info, spdlog::string_view_t(line));
}

}  // namespace logging

#pragma once

#include <spdlog/logger.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/logging/lines.h"

namespace logging {

// Writes lines to a sink of spdlog, which orders the threads. The lines come ready made, because
// spdlog's own patterns escape nothing.
class SpdlogLogger final : public base::Logger {
 public:
  using MakeLine = std::string (*)(const Record& record);

  // `clock` outlives the logger.
  SpdlogLogger(MakeLine make_line, int verbosity, const base::Clock& clock,
               std::shared_ptr<spdlog::sinks::sink> sink);

  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override;

 private:
  const MakeLine make_line_;
  const int verbosity_;
  const base::Clock& clock_;
  spdlog::logger logger_;
};

}  // namespace logging

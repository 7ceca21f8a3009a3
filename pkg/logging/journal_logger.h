#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace logging {

// Sends structured fields to the systemd journal; what the journal does not take goes to
// `fallback`.
class JournalLogger final : public base::Logger {
 public:
  // `clock` outlives the logger.
  JournalLogger(int verbosity, std::string identifier, const base::Clock& clock,
                std::unique_ptr<base::Logger> fallback);

  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override;

 private:
  const int verbosity_;
  const std::string identifier_;
  const base::Clock& clock_;
  const std::unique_ptr<base::Logger> fallback_;
};

}  // namespace logging

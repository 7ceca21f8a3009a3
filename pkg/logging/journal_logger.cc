#include "pkg/logging/journal_logger.h"

#define SD_JOURNAL_SUPPRESS_LOCATION  // Of this file, which would be in every record.
#include <systemd/sd-journal.h>

#include <utility>
#include <vector>

#include "pkg/logging/lines.h"
#include "pkg/logging/logger.h"

namespace logging {

JournalLogger::JournalLogger(int verbosity, std::string identifier, const base::Clock& clock,
                             std::unique_ptr<base::Logger> fallback)
    : verbosity_(verbosity),
      identifier_(std::move(identifier)),
      clock_(clock),
      fallback_(std::move(fallback)) {}

void JournalLogger::Log(base::LogLevel level, std::string_view message,
                        std::initializer_list<base::LogField> fields) {
  if (level == base::LogLevel::kDebug && verbosity_ < kDebugVerbosity) return;
  std::vector<std::string> texts = JournalFields(
      {.level = level, .time = clock_.Wall(), .message = message, .fields = fields}, identifier_);
  std::vector<iovec> parts;
  parts.reserve(texts.size());
  for (std::string& text : texts)
    parts.push_back({.iov_base = text.data(), .iov_len = text.size()});
  if (::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) < 0) {
    fallback_->Log(level, message, fields);
  }
}

}  // namespace logging

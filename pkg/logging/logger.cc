#include "pkg/logging/logger.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "pkg/logging/journal_logger.h"
#include "pkg/logging/spdlog_logger.h"

namespace logging {
namespace {

Format Resolve(Format format) {
  if (format != Format::kAuto) return format;
  const char* const stream = std::getenv("JOURNAL_STREAM");
  return stream != nullptr && IsJournal(stream, STDERR_FILENO) ? Format::kJournal : Format::kText;
}

}  // namespace

std::optional<Format> ParseFormat(std::string_view text) {
  if (text == "auto") return Format::kAuto;
  if (text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  if (text == "journal") return Format::kJournal;
  return std::nullopt;
}

bool IsJournal(const std::string& journal_stream, int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return false;
  return journal_stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::unique_ptr<base::Logger> MakeLogger(const Options& options, const base::Clock& clock) {
  const Format format = Resolve(options.format);
  auto standard_error = std::make_unique<SpdlogLogger>(
      format == Format::kJson ? &JsonLine : &TextLine, options.verbosity, clock,
      std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (format != Format::kJournal) return standard_error;
  return std::make_unique<JournalLogger>(options.verbosity, options.identifier, clock,
                                         std::move(standard_error));
}

}  // namespace logging

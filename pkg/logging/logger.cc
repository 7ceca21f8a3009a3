#include "pkg/logging/logger.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>
#define SD_JOURNAL_SUPPRESS_LOCATION  // It would be this file in every record.
#include <systemd/sd-journal.h>

#include <cstdlib>
#include <vector>

#include "pkg/logging/lines.h"

namespace logging {
namespace {

// What all loggers share: the verbosity and the clock.
class TimedLogger : public base::Logger {
 public:
  TimedLogger(int verbosity, const base::Clock& clock) : verbosity_(verbosity), clock_(clock) {}

  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) final {
    if (!Writes(level)) return;
    Write({.level = level, .time = clock_.Wall(), .message = message, .fields = fields});
  }
  bool Writes(base::LogLevel level) const final { return VerbosityOf(level) <= verbosity_; }
  virtual void Write(const Record& record) = 0;

 private:
  const int verbosity_;
  const base::Clock& clock_;
};

// Writes lines to standard error with spdlog, which orders the threads. It formats the lines
// itself, because spdlog's patterns escape nothing.
class StderrLogger final : public TimedLogger {
 public:
  StderrLogger(bool is_json, int verbosity, const base::Clock& clock)
      : TimedLogger(verbosity, clock), make_line_(is_json ? &JsonLine : &TextLine) {
    logger_.set_pattern("%v");
    logger_.set_level(spdlog::level::trace);  // Log() decides what is written.
  }
  void Write(const Record& record) override {
    logger_.log(spdlog::level::info, spdlog::string_view_t(make_line_(record)));
  }

 private:
  std::string (*const make_line_)(const Record& record);
  spdlog::logger logger_{"", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

// Sends structured fields to the systemd journal. Records that the journal refuses go to standard
// error.
class JournalLogger final : public TimedLogger {
 public:
  JournalLogger(const LoggerOptions& options, const base::Clock& clock)
      : TimedLogger(options.verbosity, clock),
        identifier_(options.identifier),
        fallback_(false, options.verbosity, clock) {}
  void Write(const Record& record) override {
    std::vector<std::string> texts = JournalFields(record, identifier_);
    std::vector<iovec> parts;
    parts.reserve(texts.size());
    for (std::string& text : texts) {
      parts.push_back({.iov_base = text.data(), .iov_len = text.size()});
    }
    const int count = static_cast<int>(parts.size());
    if (::sd_journal_sendv(parts.data(), count) < 0) fallback_.Write(record);
  }

 private:
  const std::string identifier_;
  StderrLogger fallback_;
};

Format Resolve(Format format) {
  if (format != Format::kAuto) return format;
  const char* const stream = std::getenv("JOURNAL_STREAM");
  return stream != nullptr && IsJournal(stream, STDERR_FILENO) ? Format::kJournal : Format::kText;
}

}  // namespace

int VerbosityOf(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::kError:
    case base::LogLevel::kWarning:
    case base::LogLevel::kInfo:
      return 0;
    case base::LogLevel::kObjects:
      return 2;
    case base::LogLevel::kWatches:
      return 3;
    case base::LogLevel::kRequests:
      return 6;
  }
  return 0;
}

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

std::unique_ptr<base::Logger> MakeLogger(const LoggerOptions& options, const base::Clock& clock) {
  const Format format = Resolve(options.format);
  if (format == Format::kJournal) return std::make_unique<JournalLogger>(options, clock);
  return std::make_unique<StderrLogger>(format == Format::kJson, options.verbosity, clock);
}

}  // namespace logging

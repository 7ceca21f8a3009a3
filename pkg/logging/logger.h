// Makes a program's logger: standard error or the systemd journal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace logging {

enum class Format {
  kAuto,     // The journal if standard error is connected to it, otherwise text.
  kText,     // Lines as klog writes them.
  kJson,     // Lines with one JSON object each.
  kJournal,  // Structured fields, sent to the journal's socket.
};

// Parses "auto", "text", "json" or "journal". Empty for any other text.
std::optional<Format> ParseFormat(std::string_view text);

// Returns the verbosity (klog's -v) from which lines of a level are written: 0 for errors, warnings
// and infos, 2 for objects, 3 for watches, 6 for requests.
int VerbosityOf(base::LogLevel level);

struct LoggerOptions {
  Format format = Format::kAuto;
  int verbosity = 0;
  std::string identifier = {};  // Name of the program in the journal.
};

// Returns a logger. Thread-safe, as every Logger. Log() writes the line before it returns, so that
// a crash loses none. `clock` outlives the logger.
std::unique_ptr<base::Logger> MakeLogger(const LoggerOptions& options, const base::Clock& clock);

// Returns whether `fd` is the journal that `journal_stream` (the value of $JOURNAL_STREAM) names.
bool IsJournal(const std::string& journal_stream, int fd);

}  // namespace logging

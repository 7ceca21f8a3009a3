// Where a program's log lines go: standard error, as text or JSON, or the systemd journal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace logging {

enum class Format {
  kAuto,     // The journal if standard error leads there, else text.
  kText,     // A line as klog writes it.
  kJson,     // A line with one JSON object.
  kJournal,  // Structured fields, to the journal's socket.
};

// "auto", "text", "json" or "journal"; nothing for anything else.
[[nodiscard]] std::optional<Format> ParseFormat(std::string_view text);

// As klog's -v: 0 and above let errors, warnings and infos through, 4 and above debug lines too.
constexpr int kDebugVerbosity = 4;

struct LoggerOptions {
  Format format = Format::kAuto;
  int verbosity = 0;
  std::string identifier = {};  // The program, as the journal shows it.
};

// `clock` outlives the logger. Thread-safe, as every Logger. A line is written before Log()
// returns, so that none is lost in a crash.
[[nodiscard]] std::unique_ptr<base::Logger> MakeLogger(const LoggerOptions& options,
                                                       const base::Clock& clock);

// Whether `journal_stream`, the value of $JOURNAL_STREAM, is what `fd` leads to.
[[nodiscard]] bool IsJournal(const std::string& journal_stream, int fd);

}  // namespace logging

// The interface of the log.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace base {

// The first three are always written. The others help to find a problem, and are
// written from a verbosity on, which pkg/logging sets.
enum class LogLevel {
  kError,
  kWarning,
  kInfo,
  kObjects,   // What is done with an object: a look at it, a write.
  kWatches,   // Each list and watch that begins or ends.
  kRequests,  // Each request to the API server, with its status and time.
};

// A key in lowerCamelCase and its value, as in Kubernetes' structured logs.
struct LogField {
  std::string_view key = {};
  std::string value = {};
};

// Writes log lines. The message is a constant sentence without a full stop; data goes into the
// fields, so that lines can be counted and searched. Implementations are thread-safe, never block
// for long and never throw. Do not pass secrets.
class Logger {
 public:
  virtual ~Logger() = default;

  virtual void Log(LogLevel level, std::string_view message,
                   std::initializer_list<LogField> fields) = 0;
  // Returns false if Log() drops lines of this level, so that nobody builds fields for nothing.
  virtual bool Writes(LogLevel /*level*/) const { return true; }

  void Error(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kError, message, fields);
  }
  void Warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kWarning, message, fields);
  }
  void Info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kInfo, message, fields);
  }
};

}  // namespace base

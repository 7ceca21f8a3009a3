// The interface of the log.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace base {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

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

  void Error(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kError, message, fields);
  }
  void Warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kWarning, message, fields);
  }
  void Info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kInfo, message, fields);
  }
  void Debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
    Log(LogLevel::kDebug, message, fields);
  }
};

}  // namespace base

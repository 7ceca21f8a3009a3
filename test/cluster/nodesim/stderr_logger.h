// A logger that writes one line for each message to stderr.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/rfc3339.h"

namespace nodesim {

// A line has time, level, message and key="value". Thread-safe.
class StderrLogger final : public base::Logger {
 public:
  // Drops messages that are less important than `most`. `clock` must outlive the logger.
  StderrLogger(base::LogLevel most, const base::Clock& clock) : most_(most), clock_(clock) {}

  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    if (level > most_) return;
    std::string line = base::FormatMicros(clock_.Wall()) + " ";
    line += "EWIDDD"[static_cast<int>(level)];
    line.append(" ").append(message);
    for (const base::LogField& field : fields) {
      line.append(" ").append(field.key).append("=\"").append(field.value).append("\"");
    }
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);  // One call: lines do not mix.
  }

 private:
  const base::LogLevel most_;
  const base::Clock& clock_;
};

}  // namespace nodesim

// Formats log records as text, JSON and journal fields.
//
// Pure functions; thread-safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace logging {

struct Record {
  base::LogLevel level = base::LogLevel::kInfo;
  base::Clock::WallTime time = {};
  std::string_view message = {};
  std::initializer_list<base::LogField> fields = {};
};

// Returns `I1121 03:22:51.123456 message key="value"`, in local time, as klog writes it.
std::string TextLine(const Record& record);

// Returns {"ts":"2026-11-21T03:22:51.123456Z","level":"info","msg":"message","key":"value"}.
// A field with one of the first three names gets the suffix '_'.
std::string JsonLine(const Record& record);

// Returns "NAME=value" texts for sd_journal_sendv. MESSAGE also contains the fields, because
// journalctl shows nothing else. For example, the field podName becomes CDOM_POD_NAME.
std::vector<std::string> JournalFields(const Record& record, std::string_view identifier);

}  // namespace logging

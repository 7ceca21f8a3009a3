#include "pkg/systemd/notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace systemd {
namespace {

constexpr int kKeepEnvironment = 0;

// Ignores failures, because a service works without reports, too.
void Send(const std::string& assignments) {
  static_cast<void>(::sd_notify(kKeepEnvironment, assignments.c_str()));
}

// Returns one line, because a second line would be another assignment.
std::string StatusLine(std::string_view status) {
  std::string line = "STATUS=" + std::string(status);
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

}  // namespace

void Ready(std::string_view status) { Send("READY=1\n" + StatusLine(status)); }

void Status(std::string_view status) { Send(StatusLine(status)); }

void Stopping() { Send("STOPPING=1"); }

std::optional<std::chrono::microseconds> WatchdogInterval() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(kKeepEnvironment, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

void Watchdog() { Send("WATCHDOG=1"); }

}  // namespace systemd

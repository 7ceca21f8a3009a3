// Reports the state of the service to systemd (Type=notify).
//
// Does nothing unless systemd sets $NOTIFY_SOCKET. $WATCHDOG_USEC means that it watches the
// service. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace systemd {

// The service is ready. `status` is a sentence for `systemctl status`.
void Ready(std::string_view status);
void Status(std::string_view status);
// The service is stopping, until the process ends.
void Stopping();

// Returns how long systemd waits for a Watchdog() before it kills the service. Empty if systemd
// does not watch it. Call Watchdog() about three times as often.
std::optional<std::chrono::microseconds> WatchdogInterval();
// The service is healthy. Call it only after a check: a bare timer would hide a deadlock.
void Watchdog();

}  // namespace systemd

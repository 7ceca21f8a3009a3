// Tells systemd how the service fares (Type=notify). Does nothing where systemd did not ask, which
// it does by $NOTIFY_SOCKET and $WATCHDOG_USEC. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace systemd {

// The service is up; `status` is a sentence for `systemctl status`.
void Ready(std::string_view status);
void Status(std::string_view status);
// It is going down, from now until the process ends.
void Stopping();

// How long systemd waits for a Watchdog() before it ends the service; nothing if it does not watch
// us. Call Watchdog() about three times as often.
[[nodiscard]] std::optional<std::chrono::microseconds> WatchdogInterval();
// All goes well. Call it only after looking: a bare timer would hide a deadlock.
void Watchdog();

}  // namespace systemd

// What the controller process does, for people: in the log, and in systemd's status.
#pragma once

#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace process {

class Announcer {
 public:
  // The logger must outlive the announcer.
  explicit Announcer(base::Logger& logger) : logger_(logger) {}

  // Reports the state if it changed. `serves` says what the process does while it can serve.
  // `why` says why it cannot, and is empty if it can. Less than half a minute of that changes
  // nothing.
  void Report(base::Clock::TimePoint now, const std::string& serves, const std::string& why);

 private:
  std::string StateAt(base::Clock::TimePoint now, const std::string& serves,
                      const std::string& why);

  base::Logger& logger_;
  std::string announced_;
  std::optional<base::Clock::TimePoint> unable_since_ = {};  // Empty while it can serve.
};

}  // namespace process

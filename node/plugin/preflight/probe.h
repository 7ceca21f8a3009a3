// Finds on a node what preflight.h judges, and says it until nothing is missing.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "node/plugin/preflight/preflight.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace plugin {

struct ProbeContext {
  const Settings& settings;
  const base::Clock& clock;
  // The container runtime, as the Node has it; empty: it cannot be asked.
  std::function<std::string()> runtime = {};
  // One line for a person.
  std::function<void(const std::string& line)> say = {};
  std::function<void(std::chrono::nanoseconds time)> pause = {};
};

// Runs a program of the driver's, for its version, for 5 s at most. It changes nothing but that it
// makes the folder of CDI specs, if it is not there.
[[nodiscard]] NodeProbe ProbeNode(const ProbeContext& context);

// Looks again every 2 s while something is missing without which no pod gets a channel, for as long
// as the settings say, and says what it finds, once. kUnavailable: it is missing still.
[[nodiscard]] base::Result<void> WaitForNode(const ProbeContext& context);

}  // namespace plugin

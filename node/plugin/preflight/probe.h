// Probes the node for what preflight.h judges, until nothing is missing.
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
  // Returns the container runtime in the Node's status. Empty if it cannot be read.
  std::function<std::string()> runtime = {};
  // Prints one line.
  std::function<void(const std::string& line)> say = {};
  std::function<void(std::chrono::nanoseconds time)> pause = {};
};

// Returns what the node has. Runs nvidia-imex of the driver for its version, for at most 5 s.
// Creates the folder of CDI specs if it does not exist, and changes nothing else.
NodeProbe ProbeNode(const ProbeContext& context);

// Probes every 2 s while something is missing that every channel needs, for as long as the settings
// allow. Prints each finding once, and with `preflight_facts` also the driver's facts. Returns
// kUnavailable if something is still missing.
base::Result<void> WaitForNode(const ProbeContext& context);

}  // namespace plugin

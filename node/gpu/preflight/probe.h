// Probes the node for what preflight.h judges, until nothing is missing.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "node/gpu/api/node_status.h"
#include "node/gpu/preflight/preflight.h"
#include "node/gpu/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace gpu {

struct ProbeContext {
  const Settings& settings;
  const base::Clock& clock;
  // Returns what the Node's status says. Empty values if it cannot be read.
  std::function<NodeStatus()> node_status = {};
  // Prints one line.
  std::function<void(const std::string& line)> say = {};
  std::function<void(std::chrono::nanoseconds time)> pause = {};
};

// Returns what the node has. Creates the folder of CDI specs if it does not exist, and changes
// nothing else.
NodeProbe ProbeNode(const ProbeContext& context);

// Probes every 2 s while a finding stops the plugin, for as long as the settings allow. Prints each
// finding once. Returns kUnavailable if something is still missing.
base::Result<void> WaitForNode(const ProbeContext& context);

}  // namespace gpu

// The health of the node's devices, as pods are told.
#pragma once

#include <vector>

#include "node/kubelet/claims.h"
#include "node/plugin/loop/plugin_state.h"

namespace plugin {

// Returns the health of each device. All of them depend on the fabric and the driver. It is unknown
// while the driver cannot be read.
std::vector<kubelet::DeviceHealth> HealthOf(const PluginState& state);

}  // namespace plugin

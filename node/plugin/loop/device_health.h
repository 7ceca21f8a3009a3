// The health of the node's devices, as pods are told.
#pragma once

#include <vector>

#include "node/kubelet/claims.h"
#include "node/plugin/loop/host_view.h"

namespace plugin {

// Returns the health of each device. All of them depend on the fabric and the driver. It is unknown
// while the driver cannot be read.
std::vector<kubelet::DeviceHealth> HealthOf(const HostView& host);

}  // namespace plugin

// What the status of this driver's node says, for its preflight.
#pragma once

#include <string>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace gpu {

struct NodeStatus {
  std::string runtime = {};       // Container runtime and its version: "containerd://2.1.4".
  std::string offered_gpus = {};  // Allocatable nvidia.com/gpu. Empty if there are none.
};

// Reads the node.
base::Result<NodeStatus> ReadNodeStatus(http::Transport& transport, const std::string& node);

}  // namespace gpu

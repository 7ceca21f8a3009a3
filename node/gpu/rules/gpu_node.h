// The node as the GPU driver's rules see it: its devices, and what containers need of NVIDIA's
// driver. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/cdi/spec.h"
#include "node/gpu/inventory/inventory.h"

namespace gpu {

// Major numbers of the driver's device files.
struct DeviceNumbers {
  std::int64_t gpus = 0;
  std::int64_t uvm = 0;  // Unified memory.
  friend bool operator==(const DeviceNumbers&, const DeviceNumbers&) = default;
};

struct GpuNode {
  std::string node = {};            // The pool of its devices.
  std::string driver_version = {};  // As its files have it: "580.95.05".
  Inventory inventory = {};
  DeviceNumbers numbers = {};
  // For each container: environment, mounts, hooks, and devices that all GPUs need.
  cdi::Edits common = {};
  // By name of a device: further device nodes, such as those of the graphics system.
  std::map<std::string, std::vector<cdi::DeviceNode>> further_nodes = {};
  friend bool operator==(const GpuNode&, const GpuNode&) = default;
};

// Returns the device nodes that each GPU needs. Their numbers follow from the driver, whether the
// host has made the files or not: the runtime makes them. `has_modeset` says whether the driver's
// module for displays is loaded.
std::vector<cdi::DeviceNode> ControlNodes(const DeviceNumbers& numbers, bool has_modeset);

// Returns /dev/nvidia<minor>.
cdi::DeviceNode NodeOf(const DeviceNumbers& numbers, int minor);

}  // namespace gpu

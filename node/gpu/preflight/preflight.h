// What a node lacks for the GPU driver, and how to fix it. Pure.
//
// probe.h finds out what the node has.
#pragma once

#include <string>
#include <vector>

#include "node/dra/preflight/finding.h"

namespace gpu {

using dra::Finding;

struct NodeProbe {
  std::string driver_root = {};  // Path on the host, from the settings.

  std::string library_trouble = {};  // Why NVIDIA's library cannot be used. Empty if it can.
  std::string driver_version = {};   // As that library says. Empty if unknown.
  std::string files_trouble = {};    // Why containers get no libraries of it. Empty if they do.
  std::vector<std::string> other_versions = {};  // Of libraries of another driver.
  bool has_gpu_numbers = false;                  // /proc/devices has nvidia.
  bool has_uvm_numbers = false;                  // It has nvidia-uvm.
  int devices = 0;                               // Devices that can be published.
  std::vector<std::string> unpublished = {};     // GPUs that cannot, and why.
  std::string other_driver = {};  // Socket of another driver of this name. Empty if there is none.
  std::string cdi_trouble = {};   // Why CDI specs cannot be written. Empty if they can.
  std::string runtime = {};       // In the Node's status, "containerd://2.1.4". Empty if unknown.
  std::string offered_gpus = {};  // Of a device plugin, in the Node's status. Empty if none.
  bool has_prepared = false;      // Pods of this boot hold devices.
};

// Returns what is missing, in the order in which to fix it. Empty if nothing is. While pods hold
// devices, no finding stops the plugin.
std::vector<Finding> Preflight(const NodeProbe& found);

}  // namespace gpu

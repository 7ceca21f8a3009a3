// Which node a plugin serves, and which domain a claim names, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "node/cdi/spec.h"

namespace plugin {

// The node, and the devices that its plugin prepares. Constant while the plugin runs, except for
// the clique and the devices, which HostWatcher updates.
struct NodeIdentity {
  std::string node = {};
  std::string driver_namespace = {};
  std::string clique = {};                         // Empty if the node has no fabric.
  bool host_managed = false;                       // IMEX runs on the host.
  std::string folder = {};                         // Of the plugin, on the host.
  std::int64_t channel_major = 0;                  // Of the channels' device files.
  std::optional<cdi::DeviceNode> management = {};  // Device by which IMEX manages the fabric.
};

// A ComputeDomain.
struct DomainIdentity {
  std::string uid = {};
  std::string name = {};
  std::string ns = {};
  bool is_deleting = false;
  bool has_all_channels = false;  // Its pods get every channel of a node, not one.
};

}  // namespace plugin

// The devices that a node publishes. Pure.
#pragma once

#include <optional>
#include <string>

#include "node/dra/rules/resource_slice.h"

namespace plugin {

// Why no device of the node may be allocated. Kept as a taint: its value and its time.
struct DeviceError {
  enum class Of { kFabric, kDriver } of = Of::kFabric;
  std::string since = {};  // RFC 3339.
};

struct NodeDevices {
  std::string node = {};
  std::string node_uid = {};
  std::string clique = {};  // Empty if the node has no fabric.
  bool has_daemon = true;   // False if the host runs IMEX.
  // Empty if devices may be allocated. Otherwise they have a taint, and the scheduler no longer
  // allocates them.
  std::optional<DeviceError> error = {};
};

// The order of devices is fixed, so that equal slices are equal as text.
dra::ResourceSlice SliceOf(const NodeDevices& devices);

}  // namespace plugin

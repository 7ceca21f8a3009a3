// The ResourceSlice in which a node publishes its devices to the scheduler. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace plugin {

// Versions of the API, in the order of kube::kDraVersions: newest first. Kubernetes 1.32 and later
// serve at least one of them.
enum class SliceApi { kV1, kV1Beta2, kV1Beta1 };
std::string_view NameOf(SliceApi api);  // "v1".

// Why no device of the node may be allocated. Kept as a taint: its value and its time.
struct DeviceError {
  enum class Of { kFabric, kDriver } of = Of::kFabric;
  std::string since = {};  // RFC 3339.
};

struct ResourceSlice {
  std::string node = {};
  std::string node_uid = {};
  std::string clique = {};  // Empty if the node has no fabric.
  bool has_daemon = true;   // False if the host runs IMEX.
  // Empty if devices may be allocated. Otherwise they have a taint, and the scheduler no longer
  // allocates them.
  std::optional<DeviceError> error = {};
};

// Returns the object to create. The server generates its name.
json::Value Render(const ResourceSlice& slice, SliceApi api);

// Returns since when the devices of the server's `object` have the taint of such an error. Empty if
// they have none.
std::optional<std::string> ErrorSince(json::View object, SliceApi version, DeviceError::Of error);

// Returns whether the server's `object` has the content of `slice`. False if the server dropped a
// field, such as a taint.
bool HasContentOf(json::View object, const ResourceSlice& slice, SliceApi api);

}  // namespace plugin

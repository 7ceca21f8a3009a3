// The ResourceSlice in which a node publishes its devices to the scheduler. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace plugin {

// Versions of the API, newest first. Kubernetes 1.32 and later serve at least one of them.
enum class SliceApi { kV1, kV1Beta2, kV1Beta1 };
[[nodiscard]] std::string_view NameOf(SliceApi api);  // "v1".
// Returns the next version to try if the server does not serve this one. Empty if there is none.
[[nodiscard]] std::optional<SliceApi> Older(SliceApi api);

// A fabric error, as a taint of the devices: the scheduler no longer allocates them.
struct SliceTaint {
  std::string key = {};
  std::string value = {};
  std::string since = {};  // RFC 3339.
  friend bool operator==(const SliceTaint&, const SliceTaint&) = default;
};

struct ResourceSlice {
  std::string node = {};
  std::string node_uid = {};
  std::string clique = {};  // Empty if the node has no fabric.
  bool has_daemon = true;   // False if the host runs IMEX.
  std::optional<SliceTaint> taint = {};
  std::int64_t generation = 1;  // Of the pool.
};

// Returns the prefix of the names of this driver's slices on a node.
[[nodiscard]] std::string SlicePrefix(const std::string& node);

// Returns the object to create. The server generates its name.
[[nodiscard]] json::Value Render(const ResourceSlice& slice, SliceApi api);

// Returns whether the server's `object` has the content of `slice`. It has not if the server
// dropped a field, such as a taint.
[[nodiscard]] bool Says(json::View object, const ResourceSlice& slice, SliceApi api);

}  // namespace plugin

// The ResourceSlice in which a driver publishes a node's devices to the scheduler. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace dra {

// Versions of the API, in the order of kube::kDraVersions: newest first. Kubernetes 1.32 and later
// serve at least one of them.
enum class SliceApi { kV1, kV1Beta2, kV1Beta1 };
std::string_view NameOf(SliceApi api);  // "v1".

// Keeps the scheduler from a device.
struct Taint {
  std::string key = {};
  std::string value = {};
  std::string since = {};  // RFC 3339.
};

struct SliceDevice {
  std::string name = {};
  json::Value attributes = json::Value::Object();
  // By name, as the API has them: {"value": "80Gi"}. A quantity must be in the form in which the
  // server returns it, or the slice would be written again and again. Rendered if not empty.
  json::Value capacity = json::Value::Object();
  std::optional<Taint> taint = {};  // Empty if the device may be allocated.
};

struct ResourceSlice {
  std::string driver = {};
  std::string node = {};
  std::string node_uid = {};
  std::vector<SliceDevice> devices = {};
};

// Limits of the API.
inline constexpr std::size_t kDevicesMax = 128;           // In a slice.
inline constexpr std::size_t kDevicesWithTaintsMax = 64;  // In a slice of which one has a taint.
inline constexpr std::size_t kAttributesAndCapacitiesMax = 32;  // Of a device.

// Returns kTooLarge, with the reason, if the server refuses so many devices, attributes or
// capacities.
base::Result<void> CheckLimits(const ResourceSlice& slice);

// Returns the object to create. The server generates its name.
json::Value Render(const ResourceSlice& slice, SliceApi api);

// Returns since when a device of the server's `object` has the taint, whatever its time. Empty if
// none has it.
std::optional<std::string> TaintedSince(json::View object, SliceApi version, const Taint& taint);

// Returns whether the server's `object` has the content of `slice`. False if the server dropped a
// field, such as a taint.
bool HasContentOf(json::View object, const ResourceSlice& slice, SliceApi api);

}  // namespace dra

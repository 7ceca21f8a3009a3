// The ResourceSlice in which a driver publishes a node's devices to the scheduler. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::optional<Taint> taint = {};  // Empty if the device may be allocated.
};

struct ResourceSlice {
  std::string driver = {};
  std::string node = {};
  std::string node_uid = {};
  std::vector<SliceDevice> devices = {};
};

// Returns the object to create. The server generates its name.
json::Value Render(const ResourceSlice& slice, SliceApi api);

// Returns since when a device of the server's `object` has the taint, whatever its time. Empty if
// none has it.
std::optional<std::string> TaintedSince(json::View object, SliceApi version, const Taint& taint);

// Returns whether the server's `object` has the content of `slice`. False if the server dropped a
// field, such as a taint.
bool HasContentOf(json::View object, const ResourceSlice& slice, SliceApi api);

}  // namespace dra

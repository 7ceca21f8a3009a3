// The ResourceSlice by which a node tells the scheduler what it has. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace plugin {

// Versions of the API, the best one first; a server has one of them at least from 1.32 on.
enum class SliceApi { kV1, kV1Beta2, kV1Beta1 };
[[nodiscard]] std::string_view NameOf(SliceApi api);  // "v1".
// The one to try next where a server does not know this one.
[[nodiscard]] std::optional<SliceApi> Older(SliceApi api);

// A problem of the fabric, as a taint of the devices: the scheduler allocates them to nobody new.
struct SliceTaint {
  std::string key = {};
  std::string value = {};
  std::string since = {};  // RFC 3339.
  friend bool operator==(const SliceTaint&, const SliceTaint&) = default;
};

struct Slice {
  std::string node = {};
  std::string node_uid = {};
  std::string clique = {};  // Empty: no attribute.
  bool has_daemon = true;   // Not if the host runs IMEX.
  std::optional<SliceTaint> taint = {};
  std::int64_t generation = 1;  // Of the pool.
};

// Names of slices of this driver on a node begin with it.
[[nodiscard]] std::string SlicePrefix(const std::string& node);

// The object, to be created: the server makes its name.
[[nodiscard]] json::Value Render(const Slice& slice, SliceApi api);

// Whether the server's `object` says what `slice` does. Devices that it did not take over, such as
// those whose taints it dropped, are a difference.
[[nodiscard]] bool Says(json::View object, const Slice& slice, SliceApi api);

}  // namespace plugin

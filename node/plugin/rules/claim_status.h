// The part of a ResourceClaim's status that is for this driver. Pure.
//
// A claim has free-form JSON for each driver that its author names, up to 1 MB of it. The plugin
// keeps only what is for its own driver, so other parts cost no memory and cannot make the
// checkpoint unreadable. The reference driver reads the same part.
//
// Bound of the part: 64 KiB, 100 levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "node/plugin/rules/device_type.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/result.h"

namespace plugin {

inline constexpr std::size_t kStatusBytesMax = std::size_t{64} << 10U;
inline constexpr std::size_t kStatusLevelsMax = 100;

// An allocated device of this driver.
struct Allocated {
  std::string request = {};  // Without the subrequest, which follows a '/'.
  std::string pool = {};
  std::string device = {};
  bool admin_access = false;
  friend bool operator==(const Allocated&, const Allocated&) = default;
};

// The name of a device: "channel-0", "daemon-0".
struct DeviceName {
  DeviceType type = DeviceType::kChannel;
  std::int64_t id = 0;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
inline constexpr std::int64_t kChannels = 2048;
std::optional<DeviceName> ParseDeviceName(std::string_view name);

// The allocated device of this driver, and its configuration. A configuration of the claim takes
// precedence over one of the class; among several of one kind the last one does.
struct Wanted {
  Allocated device = {};
  DeviceName name = {};
  OpaqueConfig config = {};
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// Returns the part of `status` that is for this driver, as JSON: its results and configurations in
// the allocation, and what tells one allocation from another: node selector, time, and consumers.
// Returns kInvalid, with a message for the user, if it exceeds a bound.
base::Result<std::string> OwnPart(std::string_view status);

// Returns what an own part wants. Returns kInvalid, with a message for the user, if this driver
// cannot prepare it; no retry helps.
base::Result<Wanted> WantedBy(std::string_view own_part, Decoding decoding);

// An own part. Copies share it.
class ClaimStatus {
 public:
  ClaimStatus() = default;  // Without an allocation. An entry from before 25.3 has no other.
  // Returns kInvalid if `own_part` is not JSON, or exceeds the bound with Go's escapes.
  static base::Result<ClaimStatus> Decode(std::string_view own_part);

  // JSON as Go's types for a claim's status encode it: members in the order of their structs, no
  // empty optional member, no unknown member. The reference computes its checksum over the decoded
  // types, and rejects its own file if the text differs.
  const std::string& text() const;
  bool is_allocated() const;
  // What it wants, decoded leniently.
  const base::Result<Wanted>& wanted() const;

  friend bool operator==(const ClaimStatus& one, const ClaimStatus& other) {
    return one.text() == other.text();
  }

 private:
  struct Content {
    std::string text = {};
    base::Result<Wanted> wanted = {};
  };
  static const Content& Nothing();

  std::shared_ptr<const Content> content_ = {};  // Null without an allocation.
};

}  // namespace plugin

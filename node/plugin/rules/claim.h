// The part of a ResourceClaim that a plugin needs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace plugin {

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
[[nodiscard]] std::optional<DeviceName> ParseDeviceName(std::string_view name);

// The allocated device of this driver, and its configuration. A configuration of the claim takes
// precedence over one of the class; among several of one kind the last one does.
struct Wanted {
  Allocated device = {};
  DeviceName name = {};
  OpaqueConfig config = {};
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
struct ClaimToPrepare {
  std::string uid = {};  // IsFileSafe() holds.
  std::string name = {};
  std::string ns = {};
  bool is_allocated = false;
  json::Value status = {};
  base::Result<Wanted> wanted = {};  // Decoded strictly.
};

// Decodes `text`, the object as the API server returns it. Returns kInvalid if it is not a claim.
[[nodiscard]] base::Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text);

// Decodes the status in the checkpoint, leniently. Returns kInvalid, with a message for the user,
// if this driver cannot prepare it; no retry helps.
[[nodiscard]] base::Result<Wanted> WantedBy(const json::Value& status);

}  // namespace plugin

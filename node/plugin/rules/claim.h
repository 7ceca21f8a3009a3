// A ResourceClaim, as far as a plugin decides by it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace plugin {

// A device of this driver that was allocated.
struct Allocated {
  std::string request = {};  // Without what stands behind a '/': a subrequest.
  std::string pool = {};
  std::string device = {};
  bool admin_access = false;
  friend bool operator==(const Allocated&, const Allocated&) = default;
};

// A device by its name: "channel-0", "daemon-0".
struct DeviceName {
  DeviceType type = DeviceType::kChannel;
  std::int64_t id = 0;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
inline constexpr std::int64_t kChannels = 2048;
[[nodiscard]] std::optional<DeviceName> ParseDeviceName(std::string_view name);

// The one device of ours that was allocated, and what it is prepared by: a configuration of the
// class counts less than one of the claim, and of each of these the last one counts.
struct Wanted {
  Allocated device = {};
  DeviceName name = {};
  Config config = {};
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
struct ClaimToPrepare {
  std::string uid = {};  // cdi::IsFileSafe holds.
  std::string name = {};
  std::string ns = {};
  bool is_allocated = false;
  json::Value status = {};
  base::Result<Wanted> wanted = {};  // Decoded strictly.
};

// `text`: of the object, as the API server hands it out. kInvalid: it cannot be one.
[[nodiscard]] base::Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text);

// The same of the status that was noted when it was prepared, decoded leniently. kInvalid, in words
// for the user: it asks for what this driver cannot give, and will until the claim is another.
[[nodiscard]] base::Result<Wanted> WantedBy(const json::Value& status);

}  // namespace plugin

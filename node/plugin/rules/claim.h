// What a claim wants of this driver. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/api/names.h"
#include "node/dra/rules/claim.h"
#include "node/plugin/rules/device_type.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/result.h"

namespace plugin {

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
  dra::Allocated device = {};
  DeviceName name = {};
  OpaqueConfig config = {};
  friend bool operator==(const Wanted&, const Wanted&) = default;

  bool IsOn(const std::string& node) const { return device.pool == node; }
  // As dra::ClaimStatus requires. Returns kInvalid, with a message for the user, if this driver
  // cannot prepare it; no retry helps.
  static constexpr std::string_view kDriver = api::kDriver;
  static base::Result<Wanted> Decode(std::string_view own_part, dra::Decoding decoding);
};

using ClaimStatus = dra::ClaimStatus<Wanted>;
using ClaimToPrepare = dra::ClaimToPrepare<Wanted>;
inline base::Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text) {
  return dra::DecodeResourceClaim<Wanted>(text);
}

}  // namespace plugin

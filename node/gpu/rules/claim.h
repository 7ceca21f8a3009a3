// What a claim wants of the GPU driver. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/dra/rules/claim.h"
#include "node/gpu/inventory/device_name.h"
#include "pkg/base/result.h"

namespace gpu {

inline constexpr std::string_view kDriver = "gpu.nvidia.com";

struct WantedDevice {
  dra::Allocated allocated = {};
  DeviceName name = {};
  friend bool operator==(const WantedDevice&, const WantedDevice&) = default;
};

// The allocated devices of this driver. Their configurations are checked, and change nothing.
struct Wanted {
  std::vector<WantedDevice> devices = {};  // At least one.
  friend bool operator==(const Wanted&, const Wanted&) = default;

  // Returns whether all devices are of this node.
  bool IsOn(const std::string& node) const;
  // As dra::ClaimStatus requires. Returns kInvalid, with a message for the user, if this driver
  // cannot prepare it; no retry helps.
  static constexpr std::string_view kDriver = gpu::kDriver;
  static base::Result<Wanted> Decode(std::string_view own_part, dra::Decoding decoding);
};

using ClaimStatus = dra::ClaimStatus<Wanted>;
using ClaimToPrepare = dra::ClaimToPrepare<Wanted>;

}  // namespace gpu

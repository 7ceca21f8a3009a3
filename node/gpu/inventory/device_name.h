// Names of the devices that the GPU driver publishes. Pure.
//
// Allocated claims have these names, so they are NVIDIA's. Functions are thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpu {

struct DeviceName {
  // A MIG instance, by its place on the GPU.
  struct Mig {
    std::string profile = {};  // As in the name: "1g24gb".
    int profile_id = 0;        // Of the GPU instance profile.
    int placement_start = 0;   // The first memory slice.
    friend bool operator==(const Mig&, const Mig&) = default;
  };
  int minor = 0;                // Of /dev/nvidia<minor>.
  std::optional<Mig> mig = {};  // Empty for a whole GPU.
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// Returns "gpu-0", or "gpu-0-mig-1g24gb-19-0".
std::string TextOf(const DeviceName& name);

// Returns the parts of a name. Empty if TextOf would not return exactly this text.
std::optional<DeviceName> ParseDeviceName(std::string_view text);

// Returns a MIG profile as names have it: "1g24gb" of "1g.24gb", "1g12gb-me" of "1g.12gb+me".
std::string ProfileInName(std::string_view profile);

}  // namespace gpu

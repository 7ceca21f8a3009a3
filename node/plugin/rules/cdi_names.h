// The names of this driver's CDI specs and devices, as the reference driver's.
#pragma once

#include <string_view>

namespace plugin {

inline constexpr std::string_view kCdiVendor = "k8s.compute-domain.nvidia.com";
inline constexpr std::string_view kClaimKind = "k8s.compute-domain.nvidia.com/claim";
// NVIDIA's driver: the device that a claim of a daemon names, how such names begin, and the file
// that has its spec.
inline constexpr std::string_view kBaseKind = "k8s.compute-domain.nvidia.com/device";
inline constexpr std::string_view kBaseDevices = "k8s.compute-domain.nvidia.com/device=";
inline constexpr std::string_view kBaseDevice = "k8s.compute-domain.nvidia.com/device=all";
inline constexpr std::string_view kBaseFile = "k8s.compute-domain.nvidia.com-device_base.yaml";

}  // namespace plugin

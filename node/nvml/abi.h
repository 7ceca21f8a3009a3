// NVML's binary interface: the numbers and layouts that are used.
#pragma once

#include <cstdint>

namespace nvml::abi {

inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kNoSuchFunction = 13;
inline constexpr int kVersionMismatch = 25;
inline constexpr unsigned kInitWithoutGpus = 1;  // Initialization succeeds without GPUs.
inline constexpr unsigned kTextMax = 96;

using Device = void*;

// As nvmlDeviceGetGpuFabricInfo fills it.
struct FabricInfo {
  std::uint8_t cluster[16];
  int status;
  unsigned clique;
  std::uint8_t state;
};
// As nvmlDeviceGetGpuFabricInfoV does.
struct FabricInfo2 {
  unsigned version;
  std::uint8_t cluster[16];
  int status;
  unsigned clique;
  std::uint8_t state;
  unsigned health;
};
static_assert(sizeof(FabricInfo) == 28 && sizeof(FabricInfo2) == 36);
inline constexpr unsigned kFabricInfo2 = sizeof(FabricInfo2) | (2U << 24U);

// Fields of FabricInfo2::health: a shift and a mask. A driver that does not know a field leaves it
// 0.
inline constexpr unsigned kTrue = 1;  // In the fields of two bits.
inline constexpr unsigned kFlagMask = 3;
inline constexpr unsigned kDegradedBandwidth = 0;
inline constexpr unsigned kRouteRecovery = 2;
inline constexpr unsigned kRouteUnhealthy = 4;
inline constexpr unsigned kAccessTimeoutRecovery = 6;
inline constexpr unsigned kConfiguration = 8;
inline constexpr unsigned kConfigurationMask = 15;
inline constexpr unsigned kConfigurationNone = 1;  // Correct. Greater values are errors.

}  // namespace nvml::abi

// NVML's binary interface: numbers and layouts of the few things that are used of it.
#pragma once

#include <cstdint>

namespace nvml::abi {

inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kNoSuchFunction = 13;
inline constexpr int kVersionMismatch = 25;
inline constexpr unsigned kInitWithoutGpus = 1;  // Its start is good even if there are no GPUs.
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

}  // namespace nvml::abi

// Numbers and layouts of NVIDIA's public header nvml.h, copied by value.
//
// Nothing is taken from node/nvml/abi.h. node/nvml/abi_test.cc compares that file with this one.
// The stand-in beside this file fills structures by these offsets.
//
// Source: nvml.h with the mark "NVML VERSION: 13.3.29" (CUDA 13.3, API version 13), published in
// NVIDIA/go-nvml, file gen/nvml/nvml.h, commit 8b8585b of 2026-06-26. Sizes and offsets are those
// of a C compiler for x86-64. The alignment of these types is the same on arm64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvml_header {

// nvmlReturn_t, an enumeration of 4 bytes.
inline constexpr std::size_t kReturnSize = 4;
inline constexpr int kSuccess = 0;
inline constexpr int kErrorNotSupported = 3;
inline constexpr int kErrorNotFound = 6;
inline constexpr int kErrorDriverNotLoaded = 9;
inline constexpr int kErrorFunctionNotFound = 13;
inline constexpr int kErrorGpuIsLost = 15;
inline constexpr int kErrorArgumentVersionMismatch = 25;

// nvmlDevice_t, a pointer.
inline constexpr std::size_t kDeviceSize = 8;

inline constexpr unsigned kInitFlagNoGpus = 1;
inline constexpr std::size_t kSystemDriverVersionBufferSize = 80;
inline constexpr std::size_t kDeviceNameV2BufferSize = 96;

// nvmlGpuFabricState_t, an unsigned char.
inline constexpr std::size_t kFabricStateSize = 1;
inline constexpr int kFabricStateNotSupported = 0;
inline constexpr int kFabricStateNotStarted = 1;
inline constexpr int kFabricStateInProgress = 2;
inline constexpr int kFabricStateCompleted = 3;

inline constexpr std::size_t kFabricUuidLen = 16;

// nvmlGpuFabricInfo_t, of nvmlDeviceGetGpuFabricInfo.
struct FabricInfo1 {
  static constexpr std::size_t kSize = 28;
  static constexpr std::size_t kClusterUuid = 0;
  static constexpr std::size_t kStatus = 16;
  static constexpr std::size_t kCliqueId = 20;
  static constexpr std::size_t kState = 24;
};
// nvmlGpuFabricInfo_v2_t, of nvmlDeviceGetGpuFabricInfoV.
struct FabricInfo2 {
  static constexpr std::size_t kSize = 36;
  static constexpr std::uint32_t kVersionTag = 33554468;  // nvmlGpuFabricInfo_v2.
  static constexpr std::size_t kVersion = 0;
  static constexpr std::size_t kClusterUuid = 4;
  static constexpr std::size_t kStatus = 20;
  static constexpr std::size_t kCliqueId = 24;
  static constexpr std::size_t kState = 28;
  static constexpr std::size_t kHealthMask = 32;
};

// NVML_GPU_FABRIC_HEALTH_MASK_*: shift and width of each field, and its values.
inline constexpr unsigned kShiftDegradedBw = 0;
inline constexpr unsigned kShiftRouteRecovery = 2;
inline constexpr unsigned kShiftRouteUnhealthy = 4;
inline constexpr unsigned kShiftAccessTimeoutRecovery = 6;
inline constexpr unsigned kShiftIncorrectConfiguration = 8;
inline constexpr unsigned kWidthOfFlags = 3;
inline constexpr unsigned kWidthIncorrectConfiguration = 15;
inline constexpr unsigned kFlagTrue = 1;
inline constexpr unsigned kFlagFalse = 2;
inline constexpr unsigned kIncorrectConfigurationNone = 1;
inline constexpr unsigned kIncorrectConfigurationLast = 8;  // GPU_STATE_INVALID.

}  // namespace nvml_header

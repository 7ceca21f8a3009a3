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
inline constexpr int kErrorUninitialized = 1;
inline constexpr int kErrorInvalidArgument = 2;
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

// nvmlMemory_t, of nvmlDeviceGetMemoryInfo.
struct Memory {
  static constexpr std::size_t kSize = 24;
  static constexpr std::size_t kTotal = 0;
  static constexpr std::size_t kFree = 8;
  static constexpr std::size_t kUsed = 16;
};
// nvmlPciInfo_t, of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  static constexpr std::size_t kSize = 68;
  static constexpr std::size_t kBusIdLegacy = 0;
  static constexpr std::size_t kDomain = 16;
  static constexpr std::size_t kBus = 20;
  static constexpr std::size_t kDevice = 24;
  static constexpr std::size_t kPciDeviceId = 28;
  static constexpr std::size_t kPciSubSystemId = 32;
  static constexpr std::size_t kBusId = 36;
  static constexpr std::size_t kBusIdBufferSize = 32;
};
// nvmlDeviceAddressingMode_v1_t, of nvmlDeviceGetAddressingMode.
struct AddressingMode1 {
  static constexpr std::size_t kSize = 8;
  static constexpr std::uint32_t kVersionTag = 16777224;  // nvmlDeviceAddressingMode_v1.
  static constexpr std::size_t kVersion = 0;
  static constexpr std::size_t kValue = 4;
};
inline constexpr unsigned kAddressingModeNone = 0;
inline constexpr unsigned kAddressingModeHmm = 1;
inline constexpr unsigned kAddressingModeAts = 2;

inline constexpr std::size_t kDeviceUuidV2BufferSize = 96;

// nvmlBrandType_t and nvmlDeviceArchitecture_t.
inline constexpr unsigned kBrandTesla = 2;
inline constexpr unsigned kBrandGeforce = 5;
inline constexpr unsigned kBrandNvidiaRtx = 13;
inline constexpr unsigned kBrandNvidia = 14;
inline constexpr unsigned kBrandTitanRtx = 16;
inline constexpr unsigned kArchTuring = 6;
inline constexpr unsigned kArchAmpere = 7;
inline constexpr unsigned kArchAda = 8;
inline constexpr unsigned kArchHopper = 9;
inline constexpr unsigned kArchBlackwell = 10;
inline constexpr unsigned kArchRubin = 13;
inline constexpr unsigned kArchUnknown = 0xffffffff;

inline constexpr unsigned kMigDisable = 0;
inline constexpr unsigned kMigEnable = 1;

// nvmlGpuInstanceProfileInfo_t, of nvmlDeviceGetGpuInstanceProfileInfo.
struct GpuInstanceProfileInfo {
  static constexpr std::size_t kSize = 48;
  static constexpr std::size_t kId = 0;
  static constexpr std::size_t kIsP2pSupported = 4;
  static constexpr std::size_t kSliceCount = 8;
  static constexpr std::size_t kInstanceCount = 12;
  static constexpr std::size_t kMultiprocessorCount = 16;
  static constexpr std::size_t kCopyEngineCount = 20;
  static constexpr std::size_t kDecoderCount = 24;
  static constexpr std::size_t kEncoderCount = 28;
  static constexpr std::size_t kJpegCount = 32;
  static constexpr std::size_t kOfaCount = 36;
  static constexpr std::size_t kMemorySizeMb = 40;
};
// nvmlGpuInstanceInfo_t, of nvmlGpuInstanceGetInfo. The placement is a structure of two numbers.
struct GpuInstanceInfo {
  static constexpr std::size_t kSize = 24;
  static constexpr std::size_t kDevice = 0;
  static constexpr std::size_t kId = 8;
  static constexpr std::size_t kProfileId = 12;
  static constexpr std::size_t kPlacementStart = 16;
  static constexpr std::size_t kPlacementSize = 20;
};
// nvmlComputeInstanceProfileInfo_t, of nvmlGpuInstanceGetComputeInstanceProfileInfo.
struct ComputeInstanceProfileInfo {
  static constexpr std::size_t kSize = 36;
  static constexpr std::size_t kId = 0;
  static constexpr std::size_t kSliceCount = 4;
};
// nvmlComputeInstanceInfo_t, of nvmlComputeInstanceGetInfo_v2.
struct ComputeInstanceInfo {
  static constexpr std::size_t kSize = 32;
  static constexpr std::size_t kDevice = 0;
  static constexpr std::size_t kGpuInstance = 8;
  static constexpr std::size_t kId = 16;
  static constexpr std::size_t kProfileId = 20;
  static constexpr std::size_t kPlacementStart = 24;
  static constexpr std::size_t kPlacementSize = 28;
};
// NVML_GPU_INSTANCE_PROFILE_COUNT and NVML_COMPUTE_INSTANCE_PROFILE_COUNT.
inline constexpr unsigned kGpuInstanceProfileCount = 18;
inline constexpr unsigned kComputeInstanceProfileCount = 9;
inline constexpr unsigned kComputeInstanceEngineProfileShared = 0;

}  // namespace nvml_header

// NVML's binary interface: the numbers and layouts that are used.
#pragma once

#include <cstdint>

namespace nvml::abi {

inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNotFound = 6;
inline constexpr int kNoSuchFunction = 13;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kVersionMismatch = 25;
inline constexpr unsigned kInitWithoutGpus = 1;  // Initialization succeeds without GPUs.
inline constexpr unsigned kTextMax = 96;

using Device = void*;
// Handles that the library passes by value.
struct GpuInstance {
  void* handle;
};
struct ComputeInstance {
  void* handle;
};
static_assert(sizeof(GpuInstance) == sizeof(void*) && sizeof(ComputeInstance) == sizeof(void*));

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

// As nvmlDeviceGetMemoryInfo fills it, in bytes.
struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24);

// As nvmlDeviceGetPciInfo_v3 does.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_and_vendor;
  unsigned subsystem;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// As nvmlDeviceGetAddressingMode does.
struct AddressingMode {
  unsigned version;
  unsigned value;
};
static_assert(sizeof(AddressingMode) == 8);
inline constexpr unsigned kAddressingMode1 = sizeof(AddressingMode) | (1U << 24U);

inline constexpr unsigned kMigOn = 1;

// As nvmlDeviceGetGpuInstanceProfileInfo does.
struct GpuInstanceProfile {
  unsigned id;
  unsigned is_p2p_supported;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  std::uint64_t memory_mib;
};
static_assert(sizeof(GpuInstanceProfile) == 48);

struct Placement {
  unsigned start;
  unsigned size;
};
// As nvmlGpuInstanceGetInfo does.
struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(Placement) == 8 && sizeof(GpuInstanceInfo) == 24);

// As nvmlGpuInstanceGetComputeInstanceProfileInfo does.
struct ComputeInstanceProfile {
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned shared_copy_engines;
  unsigned shared_decoders;
  unsigned shared_encoders;
  unsigned shared_jpeg_engines;
  unsigned shared_ofa_engines;
};
// As nvmlComputeInstanceGetInfo_v2 does.
struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceProfile) == 36 && sizeof(ComputeInstanceInfo) == 32);

// The numbers by which profiles are asked for. Their sizes are in names.cc.
inline constexpr unsigned kGpuInstanceProfiles = 18;
inline constexpr unsigned kComputeInstanceProfiles = 9;
inline constexpr unsigned kSharedEngines = 0;  // The one profile of engines.

}  // namespace nvml::abi

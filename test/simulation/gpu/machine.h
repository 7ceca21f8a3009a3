// A simulated machine with GPUs: three whole ones, and one with a MIG instance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/gpu/host/gpu_reader.h"
#include "test/simulation/driver/disk.h"

namespace simulation {

inline constexpr const char* kGpuDriver = "gpu.nvidia.com";
inline constexpr const char* kMigDevice = "gpu-3-mig-1g10gb-19-0";

// Names of its devices, sorted.
std::vector<std::string> DevicesOf(const HostTruth& host);

// A driver that is loaded again has other numbers but for the GPUs themselves.
inline constexpr std::int64_t kGpuMajor = 195;
inline std::int64_t UvmMajor(const HostTruth& host) { return 511 - host.driver_loads; }
inline std::int64_t CapabilityMajor(const HostTruth& host) { return 236 + host.driver_loads; }
// Minor numbers of the capabilities of the instance.
inline constexpr int kMigCapabilities[] = {30, 31};

// What the product reads of it.
gpu::GpuNode ReadMachine(const std::string& node, const HostTruth& host);

}  // namespace simulation

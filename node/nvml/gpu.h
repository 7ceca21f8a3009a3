// GPUs and their MIG instances, as NVML describes them. Values only.
//
// devices.cc fills them. Texts come from the driver: they are one line and bounded. Numbers are not
// checked further than their comments say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/nvml/fabric.h"

namespace nvml {

// Why a GPU or an instance cannot be described.
struct DeviceError {
  int code = 0;  // NVML's. 0 if NVML answered with a value that cannot be right.
  std::string message = {};
  friend bool operator==(const DeviceError&, const DeviceError&) = default;
};

// Returns whether the GPU is lost: NVML no longer reaches it.
bool IsLost(const DeviceError& error);

// What the profile of a GPU instance has.
struct MigProfile {
  int id = 0;             // Of the GPU instance profile, as nvidia-smi shows it: 19.
  std::string name = {};  // "1g.24gb".
  std::uint64_t memory_mib = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpeg_engines = 0;
  unsigned ofa_engines = 0;
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

// A MIG device that exists: a GPU instance with a compute instance that has all of it.
struct MigInstance {
  std::string uuid = {};     // "MIG-...".
  int gpu_instance = 0;      // Its ID on the GPU.
  int compute_instance = 0;  // Its ID in the GPU instance.
  MigProfile profile = {};
  unsigned placement_start = 0;  // The first memory slice.
  unsigned placement_size = 0;   // In memory slices.
  // Set if the instance cannot be described. Then the fields that were not read are empty.
  std::optional<DeviceError> error = {};
  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

struct Gpu {
  int index = 0;  // NVML's. It may change when the driver is loaded again.
  int minor = 0;  // Of /dev/nvidia<minor>. From 0 to kMinorMax.
  std::string uuid = {};
  std::string name = {};          // "NVIDIA H100 80GB HBM3".
  std::string brand = {};         // "Nvidia".
  std::string architecture = {};  // "Hopper".
  int compute_major = 0;          // CUDA compute capability: 9.
  int compute_minor = 0;
  std::optional<std::uint64_t> memory_bytes = {};  // Empty if the GPU has no memory of its own.
  std::string pci_bus_id = {};                     // As NVML says: "00000000:65:00.0".
  // As the kernel names the device: "0000:65:00.0". Empty if NVML's text has another form.
  std::string pci_address = {};
  std::string addressing_mode = {};  // "HMM", "ATS" or "None". Empty if the driver has none.
  bool is_mig = false;               // MIG mode is on.
  std::vector<MigInstance> instances = {};
  std::optional<Fabric> fabric = {};  // Empty if it could not be read.
  // Set if the GPU cannot be described. Then the fields that were not read are empty.
  std::optional<DeviceError> error = {};
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// More than any machine has. They bound what the library reports.
inline constexpr unsigned kGpusMax = 1024;
inline constexpr unsigned kMigInstancesMax = 64;  // Of one GPU.
inline constexpr unsigned kMemorySlicesMax = 16;  // Of one GPU.
inline constexpr unsigned kMinorMax = 4095;
inline constexpr unsigned kInstanceIdMax = 4095;

// The GPUs of a machine, and the driver.
struct Machine {
  std::string driver_version = {};  // "580.95.05".
  int cuda_major = 0;               // Newest CUDA that the driver supports: 13.
  int cuda_minor = 0;
  std::vector<Gpu> gpus = {};  // In NVML's order. A GPU that cannot be read is among them.
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace nvml

// The functions of NVIDIA's library, and its answers as values. Only for node/nvml.
#pragma once

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <string_view>

#include "node/nvml/abi.h"
#include "node/nvml/library.h"

namespace nvml {

// A function that the library lacks is null.
struct Library::Functions {
  void* library = nullptr;
  bool is_started = false;
  int (*init)(unsigned) = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, abi::Device*) = nullptr;
  int (*name)(abi::Device, char*, unsigned) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*fabric)(abi::Device, abi::FabricInfo*) = nullptr;
  int (*fabric2)(abi::Device, abi::FabricInfo2*) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*cuda_version2)(int*) = nullptr;
  int (*uuid)(abi::Device, char*, unsigned) = nullptr;
  int (*minor)(abi::Device, unsigned*) = nullptr;
  int (*brand)(abi::Device, unsigned*) = nullptr;
  int (*architecture)(abi::Device, unsigned*) = nullptr;
  int (*compute_capability)(abi::Device, int*, int*) = nullptr;
  int (*memory)(abi::Device, abi::Memory*) = nullptr;
  int (*pci)(abi::Device, abi::PciInfo*) = nullptr;
  int (*addressing_mode)(abi::Device, abi::AddressingMode*) = nullptr;
  int (*mig_mode)(abi::Device, unsigned*, unsigned*) = nullptr;
  int (*mig_count)(abi::Device, unsigned*) = nullptr;
  int (*mig_device)(abi::Device, unsigned, abi::Device*) = nullptr;
  int (*gpu_instance_id)(abi::Device, unsigned*) = nullptr;
  int (*compute_instance_id)(abi::Device, unsigned*) = nullptr;
  int (*gpu_instance)(abi::Device, unsigned, abi::GpuInstance*) = nullptr;
  int (*gpu_instance_info)(abi::GpuInstance, abi::GpuInstanceInfo*) = nullptr;
  int (*gpu_instance_profile)(abi::Device, unsigned, abi::GpuInstanceProfile*) = nullptr;
  int (*compute_instance)(abi::GpuInstance, unsigned, abi::ComputeInstance*) = nullptr;
  int (*compute_instance_info)(abi::ComputeInstance, abi::ComputeInstanceInfo*) = nullptr;
  int (*compute_instance_profile)(abi::GpuInstance, unsigned, unsigned,
                                  abi::ComputeInstanceProfile*) = nullptr;

  Functions() = default;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;
  ~Functions();

  // Returns whether the library has all that is needed.
  bool LoadAll(Needs needs);

  // Returns "GPU is lost (15)".
  std::string TextOf(int code) const;
  // `what` was asked for, and `code` is NVML's answer.
  base::Result<void> Check(const char* what, int code) const;
  // Reads the fabric of one GPU, with the newer function if the driver has it.
  base::Result<Fabric> FabricOfGpu(abi::Device gpu) const;
};

// Returns the text up to its first NUL, which may be missing.
template <typename Characters>
std::string TextIn(const Characters& text) {
  return {std::ranges::begin(text), std::ranges::find(text, '\0')};
}

// Returns whether a GPU of this name only drives a display.
inline bool IsDisplay(std::string_view name) {
  return name == "DGX Display" || name == "NVIDIA DGX Display";
}

}  // namespace nvml

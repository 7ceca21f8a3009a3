// Words for the numbers of NVML, as NVIDIA's driver for GPUs publishes them. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nvml {

// Return "Unknown" for a number that is not in NVIDIA's header.
std::string_view BrandName(unsigned brand);                // "Nvidia" of 14.
std::string_view ArchitectureName(unsigned architecture);  // "Hopper" of 9.

// Returns "HMM", "ATS" or "None". Empty for another number.
std::string_view AddressingModeName(unsigned mode);

// Returns the address by which the kernel knows a PCI device: "0000:65:00.0" of "00000000:65:00.0".
// Empty if the text has another form.
std::string PciAddressOf(std::string_view bus_id);

// Returns the compute slices of a GPU instance profile, by the number that asks for it. 0 if it is
// unknown.
unsigned SlicesOfGpuInstance(unsigned profile);
// Returns the same for a compute instance profile.
unsigned SlicesOfComputeInstance(unsigned profile);

// Returns the name of a MIG profile whose compute instance has all of the GPU instance: "1g.24gb",
// "1g.12gb+me". `profile` is the number that asks for it. Empty if it is unknown, or if the GPU
// cannot have this much memory.
std::string MigProfileName(unsigned profile, std::uint64_t memory_mib,
                           std::optional<std::uint64_t> gpu_memory_bytes);

}  // namespace nvml

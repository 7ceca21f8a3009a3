#include "test/simulation/gpu/machine.h"

#include <utility>

#include "node/gpu/inventory/inventory.h"
#include "node/nvml/gpu.h"

namespace simulation {

namespace {

constexpr int kGpus = 4;
constexpr int kGpuIsLost = 15;  // NVML's code.

nvml::Gpu GpuOf(int minor) {
  const std::string number = std::to_string(minor);
  return {.index = minor,
          .minor = minor,
          .uuid = "GPU-" + number,
          .name = "NVIDIA H100 80GB HBM3",
          .brand = "Nvidia",
          .architecture = "Hopper",
          .compute_major = 9,
          .memory_bytes = std::uint64_t{80} << 30U,
          .pci_address = "0000:0" + number + ":00.0"};
}

nvml::MigInstance InstanceOf() {
  return {.uuid = "MIG-3",
          .gpu_instance = 9,
          .compute_instance = 1,
          .profile = {.id = 19, .name = "1g.10gb", .memory_mib = 9856, .multiprocessors = 16},
          .placement_start = 0,
          .placement_size = 1};
}

}  // namespace

std::vector<std::string> DevicesOf(const HostTruth& host) {
  std::vector<std::string> names = {"gpu-0", "gpu-1", "gpu-2", kMigDevice};
  std::erase_if(names, [&host](const std::string& name) { return host.lost.contains(name); });
  return names;
}

gpu::GpuNode ReadMachine(const std::string& node, const HostTruth& host) {
  nvml::Machine machine = {
      .driver_version = host.driver_version, .cuda_major = 13, .cuda_minor = 0};
  for (int minor = 0; minor < kGpus; ++minor) {
    nvml::Gpu gpu = GpuOf(minor);
    if (minor == kGpus - 1) {
      gpu.is_mig = true;
      gpu.instances = {InstanceOf()};
    }
    if (host.lost.contains("gpu-" + std::to_string(minor))) {
      gpu.error = nvml::DeviceError{.code = kGpuIsLost, .message = "GPU is lost"};
    }
    machine.gpus.push_back(std::move(gpu));
  }
  gpu::GpuNode read = {.node = node,
                       .driver_version = host.driver_version,
                       .inventory = gpu::InventoryOf(machine, {}),
                       .numbers = {.gpus = kGpuMajor, .uvm = UvmMajor(host)}};
  read.common.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  read.common.nodes = gpu::ControlNodes(read.numbers, false);
  const std::string library = "/usr/lib64/libcuda.so." + host.driver_version;
  read.common.mounts = {{.host_path = library, .container_path = library}};
  for (const int minor : kMigCapabilities) {
    const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
    read.further_nodes[kMigDevice].push_back(
        {.path = path, .host_path = path, .major = CapabilityMajor(host), .minor = minor});
  }
  return read;
}

}  // namespace simulation

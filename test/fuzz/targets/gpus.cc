// What NVIDIA's library says of GPUs, and what is published from that.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "node/gpu/inventory/device_name.h"
#include "node/gpu/inventory/inventory.h"
#include "node/nvml/devices.h"
#include "node/nvml/names.h"
#include "pkg/json/utf8.h"
#include "test/fuzz/fuzz.h"

namespace {

namespace abi = nvml::abi;

// The functions of the library take no object of ours.
fuzz::Input* answers = nullptr;

int Code() {
  constexpr int kCodes[] = {abi::kInvalidArgument, abi::kNotSupported, abi::kNotFound,
                            abi::kNoSuchFunction,  abi::kGpuIsLost,    999};
  // Most calls succeed, or little would be read.
  const auto choice = answers->ConsumeIntegralInRange<std::size_t>(0, 63);
  return choice < std::size(kCodes) ? kCodes[choice] : abi::kSuccess;
}

// Numbers of any size, but most of them small.
unsigned Number() {
  constexpr unsigned kSmall = 20;
  return answers->ConsumeBool() ? answers->ConsumeIntegral<unsigned>()
                                : answers->ConsumeIntegralInRange<unsigned>(0, kSmall);
}

// Fills all that the caller made room for, without a NUL if there are so many bytes.
int Text(void* /*device*/, char* text, unsigned size) {
  const std::string bytes = answers->ConsumeRandomLengthString(size);
  std::memcpy(text, bytes.data(), bytes.size());
  if (bytes.size() < size) text[bytes.size()] = '\0';
  return Code();
}
int Uuid(void* /*device*/, char* text, unsigned size) {
  const std::string uuid = "GPU-" + std::to_string(answers->ConsumeIntegral<unsigned char>());
  return answers->ConsumeBool() ? Text(nullptr, text, size)
                                : (std::strncpy(text, uuid.c_str(), size), abi::kSuccess);
}
int One(void* /*handle*/, unsigned* number) {
  *number = Number();
  return Code();
}
int Pci(void* /*device*/, abi::PciInfo* info) {
  return Text(nullptr, info->bus_id, sizeof(info->bus_id));
}

void FillInstances(nvml::Library::Functions& f) {
  f.mig_device = [](void*, unsigned, void**) { return Code(); };
  f.gpu_instance_id = &One;
  f.compute_instance_id = &One;
  f.gpu_instance = [](void*, unsigned, abi::GpuInstance*) { return Code(); };
  f.gpu_instance_info = [](abi::GpuInstance, abi::GpuInstanceInfo* info) {
    *info = {.device = nullptr,
             .id = Number(),
             .profile_id = Number() % 4,
             .placement = {.start = Number(), .size = Number()}};
    return Code();
  };
  f.gpu_instance_profile = [](void*, unsigned, abi::GpuInstanceProfile* info) {
    *info = {};
    info->id = Number() % 4;
    info->slices = Number();
    info->multiprocessors = Number();
    info->memory_mib =
        answers->ConsumeBool() ? answers->ConsumeIntegral<std::uint64_t>() : Number();
    return Code();
  };
  f.compute_instance = [](abi::GpuInstance, unsigned, abi::ComputeInstance*) { return Code(); };
  f.compute_instance_info = [](abi::ComputeInstance, abi::ComputeInstanceInfo* info) {
    *info = {};
    info->id = Number();
    info->profile_id = Number() % 2;
    return Code();
  };
  f.compute_instance_profile = [](abi::GpuInstance, unsigned, unsigned,
                                  abi::ComputeInstanceProfile* info) {
    *info = {};
    info->id = Number() % 2;
    return Code();
  };
}

void Fill(nvml::Library::Functions& f) {
  f.count = [](unsigned* count) {
    // Asking so many takes time, and finds nothing more.
    *count = Number() % 5;
    return static_cast<int>(abi::kSuccess);
  };
  f.device = [](unsigned, void**) { return Code(); };
  f.name = &Text;
  f.uuid = &Uuid;
  f.minor = &One;
  f.brand = &One;
  f.architecture = &One;
  f.compute_capability = [](void*, int* major, int* minor) {
    *major = static_cast<int>(Number());
    *minor = static_cast<int>(Number());
    return Code();
  };
  f.memory = [](void*, abi::Memory* memory) {
    memory->total = answers->ConsumeIntegral<std::uint64_t>();
    if (answers->ConsumeBool()) memory->total %= std::uint64_t{1} << 40U;
    return Code();
  };
  f.pci = &Pci;
  f.addressing_mode = [](void*, abi::AddressingMode* mode) {
    mode->value = Number();
    return Code();
  };
  f.mig_mode = [](void*, unsigned* mode, unsigned*) {
    *mode = Number() % 3;
    return Code();
  };
  f.mig_count = &One;
  f.cuda_version2 = [](int* version) {
    *version = static_cast<int>(Number());
    return Code();
  };
  f.fabric = [](void*, abi::FabricInfo* info) {
    info->state = static_cast<std::uint8_t>(Number());
    info->clique = Number();
    return Code();
  };
  FillInstances(f);
}

void CheckGpu(const nvml::Gpu& gpu) {
  fuzz::CheckSame(json::OneLine(gpu.name, abi::kTextMax), gpu.name);
  CHECK(gpu.minor >= 0 && static_cast<unsigned>(gpu.minor) <= nvml::kMinorMax);
  CHECK(gpu.instances.size() <= nvml::kMigInstancesMax);
  fuzz::CheckSame(nvml::PciAddressOf(gpu.pci_address), gpu.pci_address);
  if (gpu.error) CHECK(!gpu.error->message.empty() && gpu.error->message.size() < 300);
}

void CheckDevice(const dra::SliceDevice& device) {
  constexpr std::size_t kTextMax = 64;
  const auto name = gpu::ParseDeviceName(device.name);
  CHECK(name.has_value());
  fuzz::CheckSame(gpu::TextOf(*name), device.name);
  for (const auto& [key, value] : device.attributes.members()) {
    CHECK(value["string"].AsString().size() <= kTextMax);
  }
  for (const auto& [key, value] : device.capacity.members()) {
    CHECK(!value["value"].AsString().empty());
  }
}

}  // namespace

// The library's answers, whatever they are:
//  - each text is one line, and each number is within its bounds;
//  - names of devices are read back, and no two are the same;
//  - each GPU and instance is published, or told;
//  - texts are as short as the API server takes them.
FUZZ_TARGET(gpus, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  answers = &input;
  nvml::Library::Functions functions;
  Fill(functions);
  const auto machine = nvml::ReadGpus(functions);
  CHECK(machine.has_value());
  std::size_t told = 0;
  for (const nvml::Gpu& gpu : machine->gpus) {
    CheckGpu(gpu);
    const bool is_parent = !gpu.error && gpu.is_mig && !gpu.instances.empty();
    told += is_parent ? gpu.instances.size() : 1;
  }
  const gpu::Inventory inventory = gpu::InventoryOf(*machine, {});
  CHECK(inventory.devices.size() + inventory.unpublished.size() == told);
  std::set<std::string> names;
  for (const dra::SliceDevice& device : gpu::SliceDevicesOf(inventory, {true, true})) {
    CheckDevice(device);
    CHECK(names.insert(device.name).second);
  }
}

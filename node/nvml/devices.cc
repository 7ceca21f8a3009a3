#include "node/nvml/devices.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "node/nvml/mig.h"
#include "node/nvml/names.h"
#include "node/nvml/questions.h"
#include "pkg/json/utf8.h"

namespace nvml {

namespace {

using base::Result;
using Functions = Library::Functions;

constexpr int kCapabilityMax = 999;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 50U;  // In bytes.
constexpr int kCudaMax = 999'999;
constexpr int kCudaMajor = 1000;  // 13020 is 13.2.
constexpr int kCudaMinor = 10;

void ReadName(const Functions& functions, abi::Device device, Questions& ask, Gpu& gpu) {
  std::array<char, abi::kTextMax> name = {};
  if (ask.Ask("name of a GPU", functions.name, device, name.data(), abi::kTextMax)) {
    gpu.name = json::OneLine(TextIn(name), abi::kTextMax);
  }
}

void ReadIdentity(const Functions& functions, abi::Device device, Questions& ask, Gpu& gpu) {
  std::array<char, abi::kTextMax> uuid = {};
  unsigned minor = 0;
  abi::PciInfo pci = {};
  if (!ask.Ask("UUID of a GPU", functions.uuid, device, uuid.data(), abi::kTextMax) ||
      !ask.Ask("minor number of a GPU", functions.minor, device, &minor) ||
      !ask.Ask("PCI data of a GPU", functions.pci, device, &pci)) {
    return;
  }
  if (!IsUuid(TextIn(uuid))) return ask.Fail("NVML gives a UUID that cannot be right");
  if (minor > kMinorMax) return ask.Fail("NVML gives a minor number that cannot be right");
  gpu.uuid = TextIn(uuid);
  gpu.minor = static_cast<int>(minor);
  gpu.pci_bus_id = json::OneLine(TextIn(pci.bus_id), sizeof(pci.bus_id));
  gpu.pci_address = PciAddressOf(gpu.pci_bus_id);
}

void ReadKind(const Functions& functions, abi::Device device, Questions& ask, Gpu& gpu) {
  unsigned brand = 0;
  unsigned architecture = 0;
  int major = 0;
  int minor = 0;
  if (!ask.Ask("brand of a GPU", functions.brand, device, &brand) ||
      !ask.Ask("architecture of a GPU", functions.architecture, device, &architecture) ||
      !ask.Ask("compute capability of a GPU", functions.compute_capability, device, &major,
               &minor)) {
    return;
  }
  if (major < 0 || major > kCapabilityMax || minor < 0 || minor > kCapabilityMax) {
    return ask.Fail("NVML gives a compute capability that cannot be right");
  }
  gpu.brand = BrandName(brand);
  gpu.architecture = ArchitectureName(architecture);
  gpu.compute_major = major;
  gpu.compute_minor = minor;
}

void ReadMemory(const Functions& functions, abi::Device device, Questions& ask, Gpu& gpu) {
  abi::Memory memory = {};
  if (ask.AskIfAny("memory of a GPU", functions.memory, device, &memory)) {
    if (memory.total > kMemoryMax) return ask.Fail("NVML gives memory that cannot be right");
    gpu.memory_bytes = memory.total;
  }
  abi::AddressingMode mode = {.version = abi::kAddressingMode1, .value = 0};
  if (ask.AskIfAny("addressing mode of a GPU", functions.addressing_mode, device, &mode)) {
    gpu.addressing_mode = AddressingModeName(mode.value);
  }
}

void ReadMig(const Functions& functions, abi::Device device, Questions& ask, Gpu& gpu) {
  unsigned mode = 0;
  unsigned pending = 0;
  if (!ask.AskIfAny("MIG mode of a GPU", functions.mig_mode, device, &mode, &pending)) return;
  gpu.is_mig = mode == abi::kMigOn;
  if (gpu.is_mig) ReadInstances(functions, device, ask, gpu);
}

Gpu ReadGpu(const Functions& functions, unsigned index) {
  Gpu gpu = {.index = static_cast<int>(index)};
  Questions ask(functions);
  abi::Device device = nullptr;
  if (ask.Ask("a GPU", functions.device, index, &device)) {
    ReadName(functions, device, ask, gpu);
    if (IsDisplay(gpu.name)) return gpu;
    ReadIdentity(functions, device, ask, gpu);
    ReadKind(functions, device, ask, gpu);
    ReadMemory(functions, device, ask, gpu);
    ReadMig(functions, device, ask, gpu);
  }
  gpu.error = ask.error();
  // Claims of whole GPUs need no fabric, so a failure is no error here.
  if (gpu.error) return gpu;
  if (auto fabric = functions.FabricOfGpu(device)) {
    fabric->gpu = gpu.index;
    gpu.fabric = *fabric;
  }
  return gpu;
}

// Returns the version as 1000 * major + 10 * minor. 0 if it is unknown.
int CudaVersion(const Functions& functions) {
  int version = 0;
  // The newer function fails where libcuda is not found, as in a container. The older one then says
  // which version the driver supports.
  Questions ask(functions);
  const bool is_known = ask.Ask("version of CUDA", functions.cuda_version2, &version);
  Questions again(functions);
  if (!is_known && !again.Ask("version of CUDA", functions.cuda_version, &version)) return 0;
  return version >= 0 && version <= kCudaMax ? version : 0;
}

}  // namespace

Result<Machine> ReadGpus(const Library::Functions& functions) {
  const int cuda = CudaVersion(functions);
  Machine machine = {.cuda_major = cuda / kCudaMajor, .cuda_minor = cuda % kCudaMajor / kCudaMinor};
  unsigned count = 0;
  TRY(functions.Check("number of GPUs", functions.count(&count)));
  for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
    Gpu gpu = ReadGpu(functions, i);
    if (!IsDisplay(gpu.name)) machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

}  // namespace nvml

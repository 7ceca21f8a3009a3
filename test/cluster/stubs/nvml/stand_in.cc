// A stand-in for NVIDIA's library, for tests. It fills structures by the offsets of NVIDIA's public
// header, so that a wrong layout in cdom's own header shows. What it says comes from the
// environment:
//   STAND_IN_NVML_INIT      what it answers when it is started
//   STAND_IN_NVML_DEVICE    a device that it opens as it is started, as NVIDIA's opens the driver's
//   STAND_IN_NVML_NODE      a device node that it makes if it does not exist, as NVIDIA's does
//   STAND_IN_NVML_ADMIN     any: it starts only in a process with CAP_SYS_ADMIN
//   STAND_IN_NVML_VERSION   of the driver (580.95.05)
//   STAND_IN_NVML_OLD       any: it does not know the newer function for fabrics
//   STAND_IN_NVML_HEALTH    what the newer function says of the fabric's health
//   STAND_IN_NVML_GPUS      one word for each GPU: "<name>,<code>,<state>,<status>,<byte of the
//                           cluster>,<clique>"
//   STAND_IN_NVML_FILE      a file that describes the driver and its GPUs, in the place of
//                           STAND_IN_NVML_GPUS, _VERSION and _HEALTH: see world.h
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string>

#include "test/cluster/stubs/nvml/public_header.h"
#include "test/cluster/stubs/nvml/put.h"
#include "test/cluster/stubs/nvml/world.h"

namespace {

namespace header = nvml_header;
using stand_in::Device, stand_in::Fields, stand_in::Gpu, stand_in::Put, stand_in::PutNumber;
using stand_in::Setting;

// Volatile, so that the text is in the file as it is: a test makes another version of it.
const char* const volatile kOwnVersion = "580.95.05";

// The node is /dev/null under another name.
bool HasNode(const std::string& path) {
  constexpr unsigned kMemory = 1;
  constexpr unsigned kNull = 3;
  constexpr mode_t kMode = S_IFCHR | 0666U;
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ||
         ::mknod(path.c_str(), kMode, makedev(kMemory, kNull)) == 0;
}

bool IsAdministrator() {
  __user_cap_header_struct header_of_own = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets = {};
  return ::syscall(SYS_capget, &header_of_own, sets.data()) == 0 &&
         (sets[0].effective & 1U << CAP_SYS_ADMIN) != 0;
}

// Fills a structure that has the layout `Info`.
template <typename Info>
int Fill(void* device, unsigned char* info) {
  const Gpu& gpu = *static_cast<Device*>(device)->gpu;
  std::memset(info + Info::kClusterUuid, gpu.cluster, header::kFabricUuidLen);
  Put(info, Info::kStatus, static_cast<std::int32_t>(gpu.status));
  Put(info, Info::kCliqueId, static_cast<std::uint32_t>(gpu.clique));
  Put(info, Info::kState, static_cast<unsigned char>(gpu.state));
  const int code = gpu.fields.CodeOf("fabric");
  return code != header::kSuccess ? code : gpu.fabric_code;
}

// By their codes, as the library says them. Of later ones no case asks for the words.
constexpr const char* kErrors[] = {"Success",
                                   "Uninitialized",
                                   "Invalid Argument",
                                   "Not Supported",
                                   "Insufficient Permissions",
                                   "Already Initialized",
                                   "Not Found",
                                   "Insufficient Size",
                                   "Insufficient External Power",
                                   "Driver Not Loaded",
                                   "Timeout",
                                   "Interrupt Request Issue",
                                   "NVML Shared Library Not Found",
                                   "Function Not Found",
                                   "Corrupted infoROM",
                                   "GPU is lost",
                                   "GPU requires reset",
                                   "GPU access blocked by the operating system",
                                   "Driver/library version mismatch"};

// Writes a text, with a NUL if there is room for it.
void PutText(const std::string& text, char* out, unsigned size) {
  std::strncpy(out, text.c_str(), size);
}

}  // namespace

extern "C" {

int nvmlInitWithFlags(unsigned flags) {
  const int code = std::atoi(Setting("STAND_IN_NVML_INIT").c_str());
  if (code != header::kSuccess) return code;
  stand_in::Read(true);
  if (stand_in::GpuCount() == 0 && flags != header::kInitFlagNoGpus) return header::kErrorNotFound;
  const std::string device = Setting("STAND_IN_NVML_DEVICE");
  if (!device.empty()) {
    const int opened = ::open(device.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened < 0) return header::kErrorNotFound;
    ::close(opened);
  }
  const std::string node = Setting("STAND_IN_NVML_NODE");
  if (!node.empty() && !HasNode(node)) return header::kErrorNotFound;
  if (!Setting("STAND_IN_NVML_ADMIN").empty() && !IsAdministrator()) return header::kErrorNotFound;
  stand_in::Start();
  return header::kSuccess;
}
int nvmlShutdown() {
  stand_in::Stop();
  return header::kSuccess;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const std::string version = Setting("STAND_IN_NVML_VERSION");
  PutText(stand_in::Driver().Text("version", version.empty() ? kOwnVersion : version), text, size);
  return stand_in::Driver().CodeOf("version");
}
int nvmlSystemGetCudaDriverVersion(int* version) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  constexpr std::uint64_t kVersion = 13000;
  *version = static_cast<int>(stand_in::Driver().Number("cuda", kVersion));
  return stand_in::Driver().CodeOf("cuda");
}
// As where libcuda is found; otherwise: fail.cuda2=12.
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const int code = nvmlSystemGetCudaDriverVersion(version);
  return code != header::kSuccess ? code : stand_in::Driver().CodeOf("cuda2");
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  stand_in::Read(false);
  *count = static_cast<unsigned>(
      stand_in::Driver().Number("count", static_cast<std::uint64_t>(stand_in::GpuCount())));
  return stand_in::Driver().CodeOf("count");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  *device = stand_in::HandleOf(index);
  if (*device == nullptr) return header::kErrorInvalidArgument;
  return static_cast<Device*>(*device)->fields().CodeOf("handle");
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  PutText(fields.Text("name", "NVIDIA"), text, size);
  return fields.CodeOf("name");
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  PutText(fields.Text("uuid", "GPU-0"), text, size);
  return fields.CodeOf("uuid");
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  *minor = static_cast<unsigned>(fields.Number("minor", 0));
  return fields.CodeOf("minor");
}
int nvmlDeviceGetBrand(void* device, unsigned* brand) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  *brand = static_cast<unsigned>(fields.Number("brand", header::kBrandNvidia));
  return fields.CodeOf("brand");
}
int nvmlDeviceGetArchitecture(void* device, unsigned* architecture) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  *architecture = static_cast<unsigned>(fields.Number("arch", header::kArchHopper));
  return fields.CodeOf("arch");
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  char dot = 0;
  std::istringstream text(fields.Text("cc", "9.0"));
  text >> *major >> dot >> *minor;
  return fields.CodeOf("cc");
}
int nvmlDeviceGetMemoryInfo(void* device, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::Memory;
  constexpr std::uint64_t kTotal = 85520809984;
  const Fields& fields = static_cast<Device*>(device)->fields();
  const std::uint64_t total = fields.Number("memory", kTotal);
  Put(info, Info::kTotal, total);
  Put(info, Info::kFree, total);
  Put(info, Info::kUsed, std::uint64_t{0});
  return fields.CodeOf("memory");
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::PciInfo;
  const Fields& fields = static_cast<Device*>(device)->fields();
  std::memset(info, 0, Info::kSize);
  PutText(fields.Text("pci", "00000000:65:00.0"), static_cast<char*>(info) + Info::kBusId,
          Info::kBusIdBufferSize);
  return fields.CodeOf("pci");
}
int nvmlDeviceGetAddressingMode(void* device, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::AddressingMode1;
  const Fields& fields = static_cast<Device*>(device)->fields();
  std::uint32_t version = 0;
  std::memcpy(&version, static_cast<unsigned char*>(info) + Info::kVersion, sizeof(version));
  if (version != Info::kVersionTag) return header::kErrorArgumentVersionMismatch;
  if (!fields.Has("addressing")) return header::kErrorNotSupported;
  PutNumber(info, Info::kValue, fields.Number("addressing", 0));
  return fields.CodeOf("addressing");
}
int nvmlDeviceGetGpuFabricInfo(void* device, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  return Fill<header::FabricInfo1>(device, static_cast<unsigned char*>(info));
}
int nvmlDeviceGetGpuFabricInfoV(void* device, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::FabricInfo2;
  if (!Setting("STAND_IN_NVML_OLD").empty()) return header::kErrorFunctionNotFound;
  auto* const bytes = static_cast<unsigned char*>(info);
  std::uint32_t version = 0;
  std::memcpy(&version, bytes + Info::kVersion, sizeof(version));
  if (version != Info::kVersionTag) return header::kErrorArgumentVersionMismatch;
  const Fields& fields = static_cast<Device*>(device)->fields();
  PutNumber(
      bytes, Info::kHealthMask,
      fields.Number("health", std::strtoull(Setting("STAND_IN_NVML_HEALTH").c_str(), nullptr, 10)));
  return Fill<Info>(device, bytes);
}
const char* nvmlErrorString(int code) {
  return code >= 0 && code < static_cast<int>(std::size(kErrors)) ? kErrors[code] : "Unknown Error";
}

}  // extern "C"

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
#include <sstream>
#include <string>
#include <vector>

#include "test/cluster/stubs/nvml/public_header.h"

namespace {

namespace header = nvml_header;

struct Gpu {
  std::string name = {};
  int code = 0;
  int state = 0;
  int status = 0;
  int cluster = 0;
  unsigned clique = 0;
};

std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<Gpu>& Gpus() {
  static std::vector<Gpu> gpus;
  return gpus;
}

void ReadGpus() {
  Gpus().clear();
  std::istringstream words(Setting("STAND_IN_NVML_GPUS"));
  for (std::string word; words >> word;) {
    std::istringstream fields(word);
    Gpu gpu;
    char comma = 0;
    std::getline(fields, gpu.name, ',');
    fields >> gpu.code >> comma >> gpu.state >> comma >> gpu.status >> comma >> gpu.cluster >>
        comma >> gpu.clique;
    for (char& c : gpu.name) c = c == '_' ? ' ' : c;
    Gpus().push_back(gpu);
  }
}

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

// Writes `value` where a field of the caller's structure is.
template <typename Value>
void Put(unsigned char* info, std::size_t offset, Value value) {
  std::memcpy(info + offset, &value, sizeof(value));
}

// Fills a structure that has the layout `Info`.
template <typename Info>
int Fill(void* device, unsigned char* info) {
  const Gpu& gpu = *static_cast<Gpu*>(device);
  std::memset(info + Info::kClusterUuid, gpu.cluster, header::kFabricUuidLen);
  Put(info, Info::kStatus, static_cast<std::int32_t>(gpu.status));
  Put(info, Info::kCliqueId, static_cast<std::uint32_t>(gpu.clique));
  Put(info, Info::kState, static_cast<unsigned char>(gpu.state));
  return gpu.code;
}

}  // namespace

extern "C" {

int nvmlInitWithFlags(unsigned flags) {
  ReadGpus();
  if (Gpus().empty() && flags != header::kInitFlagNoGpus) return header::kErrorNotFound;
  const std::string device = Setting("STAND_IN_NVML_DEVICE");
  if (!device.empty()) {
    const int opened = ::open(device.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened < 0) return header::kErrorNotFound;
    ::close(opened);
  }
  const std::string node = Setting("STAND_IN_NVML_NODE");
  if (!node.empty() && !HasNode(node)) return header::kErrorNotFound;
  if (!Setting("STAND_IN_NVML_ADMIN").empty() && !IsAdministrator()) return header::kErrorNotFound;
  return std::atoi(Setting("STAND_IN_NVML_INIT").c_str());
}
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  const std::string version = Setting("STAND_IN_NVML_VERSION");
  std::strncpy(text, version.empty() ? "580.95.05" : version.c_str(), size);
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Gpus().size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &Gpus()[index];
  return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::strncpy(text, static_cast<Gpu*>(device)->name.c_str(), size);
  return 0;
}
int nvmlDeviceGetGpuFabricInfo(void* device, void* info) {
  return Fill<header::FabricInfo1>(device, static_cast<unsigned char*>(info));
}
int nvmlDeviceGetGpuFabricInfoV(void* device, void* info) {
  using Info = header::FabricInfo2;
  if (!Setting("STAND_IN_NVML_OLD").empty()) return header::kErrorFunctionNotFound;
  auto* const bytes = static_cast<unsigned char*>(info);
  std::uint32_t version = 0;
  std::memcpy(&version, bytes + Info::kVersion, sizeof(version));
  if (version != Info::kVersionTag) return header::kErrorArgumentVersionMismatch;
  Put(bytes, Info::kHealthMask,
      static_cast<std::uint32_t>(std::atoi(Setting("STAND_IN_NVML_HEALTH").c_str())));
  return Fill<Info>(device, bytes);
}
const char* nvmlErrorString(int code) {
  return code == header::kErrorGpuIsLost ? "GPU is lost" : "Unknown Error";
}

}  // extern "C"

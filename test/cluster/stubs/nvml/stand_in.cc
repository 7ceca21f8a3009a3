// A stand-in for NVIDIA's library, for tests. What it says comes from the environment:
//   STAND_IN_NVML_INIT      what it answers when it is started
//   STAND_IN_NVML_OLD       any: it does not know the newer function for fabrics
//   STAND_IN_NVML_HEALTH    what the newer function says of the fabric's health
//   STAND_IN_NVML_GPUS      one word for each GPU: "<name>,<code>,<state>,<status>,<byte of the
//                           cluster>,<clique>"
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "node/nvml/abi.h"

namespace {

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

template <typename Info>
int Fill(void* device, Info* info) {
  const Gpu& gpu = *static_cast<Gpu*>(device);
  std::memset(info->cluster, gpu.cluster, sizeof(info->cluster));
  info->status = gpu.status;
  info->clique = gpu.clique;
  info->state = static_cast<std::uint8_t>(gpu.state);
  return gpu.code;
}

}  // namespace

extern "C" {

int nvmlInitWithFlags(unsigned flags) {
  ReadGpus();
  constexpr int kNoGpuFound = 6;
  if (Gpus().empty() && flags != nvml::abi::kInitWithoutGpus) return kNoGpuFound;
  return std::atoi(Setting("STAND_IN_NVML_INIT").c_str());
}
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "580.95.05", size);
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
int nvmlDeviceGetGpuFabricInfo(void* device, nvml::abi::FabricInfo* info) {
  return Fill(device, info);
}
int nvmlDeviceGetGpuFabricInfoV(void* device, nvml::abi::FabricInfo2* info) {
  if (!Setting("STAND_IN_NVML_OLD").empty()) return nvml::abi::kNoSuchFunction;
  if (info->version != nvml::abi::kFabricInfo2) return nvml::abi::kVersionMismatch;
  info->health = static_cast<unsigned>(std::atoi(Setting("STAND_IN_NVML_HEALTH").c_str()));
  return Fill(device, info);
}
const char* nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Unknown Error"; }

}  // extern "C"

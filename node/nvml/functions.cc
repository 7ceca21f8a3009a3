#include "node/nvml/functions.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "pkg/json/utf8.h"

namespace nvml {

namespace {

using base::Result;

constexpr std::size_t kErrorMax = 100;

// Loads the function of that name. Returns false if the library lacks it.
template <typename Function>
bool Load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// Unknown values of NVML count as in progress.
Fabric::State StateOf(std::uint8_t state) {
  constexpr auto kLast = static_cast<std::uint8_t>(Fabric::State::kCompleted);
  return state <= kLast ? static_cast<Fabric::State>(state) : Fabric::State::kInProgress;
}

std::uint32_t HealthOf(const abi::FabricInfo& /*info*/) { return 0; }
std::uint32_t HealthOf(const abi::FabricInfo2& info) { return info.health; }

template <typename Info>
Fabric FabricOf(const Info& info) {
  Fabric fabric = {.state = StateOf(info.state),
                   .status = info.status,
                   .clique = info.clique,
                   .health = HealthOf(info)};
  std::ranges::copy(info.cluster, fabric.cluster.begin());
  return fabric;
}

}  // namespace

Library::Functions::~Functions() {
  if (is_started) static_cast<void>(shutdown());
  if (library != nullptr) ::dlclose(library);
}

bool Library::Functions::LoadAll(Needs needs) {
  const auto has = [this](const char* symbol, auto*& function) {
    return Load(library, symbol, function);
  };
  static_cast<void>(has("nvmlErrorString", error_string));
  // Older drivers lack some of these, and none is needed for a GPU without MIG and fabric.
  static_cast<void>(has("nvmlSystemGetCudaDriverVersion", cuda_version));
  static_cast<void>(has("nvmlSystemGetCudaDriverVersion_v2", cuda_version2));
  static_cast<void>(has("nvmlDeviceGetAddressingMode", addressing_mode));
  static_cast<void>(has("nvmlDeviceGetMigMode", mig_mode));
  static_cast<void>(has("nvmlDeviceGetMaxMigDeviceCount", mig_count));
  static_cast<void>(has("nvmlDeviceGetMigDeviceHandleByIndex", mig_device));
  static_cast<void>(has("nvmlDeviceGetGpuInstanceId", gpu_instance_id));
  static_cast<void>(has("nvmlDeviceGetComputeInstanceId", compute_instance_id));
  static_cast<void>(has("nvmlDeviceGetGpuInstanceById", gpu_instance));
  static_cast<void>(has("nvmlGpuInstanceGetInfo", gpu_instance_info));
  static_cast<void>(has("nvmlDeviceGetGpuInstanceProfileInfo", gpu_instance_profile));
  static_cast<void>(has("nvmlGpuInstanceGetComputeInstanceById", compute_instance));
  static_cast<void>(has("nvmlComputeInstanceGetInfo_v2", compute_instance_info));
  static_cast<void>(has("nvmlGpuInstanceGetComputeInstanceProfileInfo", compute_instance_profile));
  const bool has_fabric = has("nvmlDeviceGetGpuFabricInfo", fabric);
  const bool has_fabric2 = has("nvmlDeviceGetGpuFabricInfoV", fabric2);
  const bool has_gpus =
      has("nvmlDeviceGetUUID", uuid) && has("nvmlDeviceGetMinorNumber", minor) &&
      has("nvmlDeviceGetBrand", brand) && has("nvmlDeviceGetArchitecture", architecture) &&
      has("nvmlDeviceGetCudaComputeCapability", compute_capability) &&
      has("nvmlDeviceGetMemoryInfo", memory) && has("nvmlDeviceGetPciInfo_v3", pci);
  return has("nvmlInitWithFlags", init) && has("nvmlShutdown", shutdown) &&
         has("nvmlSystemGetDriverVersion", driver_version) && has("nvmlDeviceGetCount_v2", count) &&
         has("nvmlDeviceGetHandleByIndex_v2", device) && has("nvmlDeviceGetName", name) &&
         (needs == Needs::kGpus ? has_gpus : has_fabric || has_fabric2);
}

std::string Library::Functions::TextOf(int code) const {
  const char* text = error_string != nullptr ? error_string(code) : nullptr;
  const std::string number = std::to_string(code);
  return text == nullptr ? number : json::OneLine(text, kErrorMax) + " (" + number + ")";
}

Result<void> Library::Functions::Check(const char* what, int code) const {
  if (code == abi::kSuccess) return {};
  return base::Invalid(std::string(what) + ": NVML says " + TextOf(code));
}

Result<Fabric> Library::Functions::FabricOfGpu(abi::Device gpu) const {
  int code = abi::kNoSuchFunction;
  if (fabric2 != nullptr) {
    abi::FabricInfo2 info = {};
    info.version = abi::kFabricInfo2;
    code = fabric2(gpu, &info);
    if (code == abi::kSuccess) return FabricOf(info);
  }
  const bool is_too_old = code == abi::kNoSuchFunction || code == abi::kVersionMismatch;
  if (is_too_old && fabric != nullptr) {
    abi::FabricInfo info = {};
    code = fabric(gpu, &info);
    if (code == abi::kSuccess) return FabricOf(info);
  }
  if (code != abi::kNotSupported) TRY(Check("fabric of a GPU", code));
  return Fabric();
}

}  // namespace nvml

// The functions of the stand-in for MIG instances. world.h says what they answer.
#include <cstdint>
#include <cstring>
#include <iterator>

#include "test/cluster/stubs/nvml/public_header.h"
#include "test/cluster/stubs/nvml/put.h"
#include "test/cluster/stubs/nvml/world.h"

namespace {

namespace header = nvml_header;
using stand_in::Device, stand_in::Fields, stand_in::Put, stand_in::PutHandle, stand_in::PutNumber;

// As the library passes its handles: structures with one pointer, whose object is a Device here.
struct GpuInstance {
  void* handle;
};
struct ComputeInstance {
  void* handle;
};

// Returns the fields of an instance. Null if the handle is of another device.
const Fields* InstanceOf(const void* handle) {
  const auto& device = *static_cast<const Device*>(handle);
  return device.instance != nullptr ? &device.instance->fields : nullptr;
}

// The compute instance profiles have these slices, by their numbers.
constexpr unsigned kComputeSlices[] = {1, 2, 3, 4, 7, 8, 6, 1, 7};
static_assert(std::size(kComputeSlices) == header::kComputeInstanceProfileCount);

}  // namespace

extern "C" {

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields& fields = static_cast<Device*>(device)->fields();
  if (!fields.Has("mig")) return header::kErrorNotSupported;
  *current = static_cast<unsigned>(fields.Number("mig", 0));
  *pending = *current;
  return fields.CodeOf("mig");
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  constexpr unsigned kMost = 7;
  const Fields& fields = static_cast<Device*>(device)->fields();
  *count = static_cast<unsigned>(fields.Number("instances", kMost));
  return fields.CodeOf("instances");
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** found) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  *found = stand_in::HandleOf(*static_cast<Device*>(device), index);
  if (*found == nullptr) return header::kErrorNotFound;
  return static_cast<Device*>(*found)->fields().CodeOf("handle");
}
int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields* fields = InstanceOf(device);
  if (fields == nullptr) return header::kErrorInvalidArgument;
  *id = static_cast<unsigned>(fields->Number("gi", 0));
  return fields->CodeOf("gi");
}
int nvmlDeviceGetComputeInstanceId(void* device, unsigned* id) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  const Fields* fields = InstanceOf(device);
  if (fields == nullptr) return header::kErrorInvalidArgument;
  *id = static_cast<unsigned>(fields->Number("ci", 0));
  return fields->CodeOf("ci");
}
int nvmlDeviceGetGpuInstanceById(void* device, unsigned id, GpuInstance* found) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  stand_in::Device& gpu = *static_cast<Device*>(device);
  for (const stand_in::Instance& instance : gpu.gpu->instances) {
    if (instance.fields.Number("gi", 0) != id) continue;
    const auto index = static_cast<unsigned>(instance.fields.Number("index", 0));
    found->handle = stand_in::HandleOf(gpu, index);
    return instance.fields.CodeOf("gpu_instance");
  }
  return header::kErrorNotFound;
}
int nvmlGpuInstanceGetInfo(GpuInstance instance, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::GpuInstanceInfo;
  const Fields& fields = *InstanceOf(instance.handle);
  PutHandle(info, Info::kDevice, instance.handle);
  PutNumber(info, Info::kId, fields.Number("gi", 0));
  PutNumber(info, Info::kProfileId, fields.Number("profile", 0));
  PutNumber(info, Info::kPlacementStart, fields.Number("start", 0));
  PutNumber(info, Info::kPlacementSize, fields.Number("size", 1));
  return fields.CodeOf("gpu_instance_info");
}
int nvmlDeviceGetGpuInstanceProfileInfo(void* device, unsigned number, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::GpuInstanceProfileInfo;
  for (const Fields& profile : static_cast<Device*>(device)->gpu->profiles) {
    if (profile.Number("number", 0) != number) continue;
    std::memset(info, 0, Info::kSize);
    PutNumber(info, Info::kId, profile.Number("id", 0));
    PutNumber(info, Info::kSliceCount, profile.Number("slices", 1));
    PutNumber(info, Info::kInstanceCount, 1);
    PutNumber(info, Info::kMultiprocessorCount, profile.Number("sms", 0));
    PutNumber(info, Info::kCopyEngineCount, profile.Number("copy", 0));
    PutNumber(info, Info::kDecoderCount, profile.Number("decoders", 0));
    PutNumber(info, Info::kEncoderCount, profile.Number("encoders", 0));
    PutNumber(info, Info::kJpegCount, profile.Number("jpeg", 0));
    PutNumber(info, Info::kOfaCount, profile.Number("ofa", 0));
    Put(info, Info::kMemorySizeMb, profile.Number("memory", 0));
    return profile.CodeOf("profile");
  }
  return number < header::kGpuInstanceProfileCount ? header::kErrorNotSupported
                                                   : header::kErrorInvalidArgument;
}
int nvmlGpuInstanceGetComputeInstanceById(GpuInstance instance, unsigned id,
                                          ComputeInstance* found) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  auto& gpu = *static_cast<Device*>(instance.handle);
  const std::uint64_t gpu_id = gpu.fields().Number("gi", 0);
  for (const stand_in::Instance& other : gpu.gpu->instances) {
    const Fields& fields = other.fields;
    if (fields.Number("gi", 0) != gpu_id || fields.Number("ci", 0) != id) continue;
    found->handle = stand_in::HandleOf(gpu, static_cast<unsigned>(fields.Number("index", 0)));
    return fields.CodeOf("compute_instance");
  }
  return header::kErrorNotFound;
}
// The ID of a compute instance profile is here its number of slices, and 100 more.
int nvmlComputeInstanceGetInfo_v2(ComputeInstance instance, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::ComputeInstanceInfo;
  const Fields& fields = *InstanceOf(instance.handle);
  std::memset(info, 0, Info::kSize);
  PutHandle(info, Info::kDevice, instance.handle);
  PutNumber(info, Info::kId, fields.Number("ci", 0));
  PutNumber(info, Info::kProfileId, 100 + fields.Number("compute", 1));
  PutNumber(info, Info::kPlacementSize, fields.Number("compute", 1));
  return fields.CodeOf("compute_instance_info");
}
int nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, unsigned number,
                                                 unsigned engines, void* info) {
  if (!stand_in::IsStarted()) return header::kErrorUninitialized;
  using Info = header::ComputeInstanceProfileInfo;
  if (number >= std::size(kComputeSlices) ||
      engines != header::kComputeInstanceEngineProfileShared) {
    return header::kErrorInvalidArgument;
  }
  std::memset(info, 0, Info::kSize);
  PutNumber(info, Info::kId, 100 + kComputeSlices[number]);
  PutNumber(info, Info::kSliceCount, kComputeSlices[number]);
  return InstanceOf(instance.handle)->CodeOf("compute_profile");
}

}  // extern "C"

#include "node/nvml/mig.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

#include "node/nvml/names.h"

namespace nvml {

namespace {

constexpr std::size_t kUuidMax = 64;  // As much as an attribute of a device may have.
constexpr std::uint64_t kMemoryMibMax = std::uint64_t{1} << 30U;

struct Profile {
  unsigned number = 0;  // That asks for it.
  abi::GpuInstanceProfile info = {};
};

// What NVML says of an instance that exists.
struct Found {
  abi::GpuInstance gpu_instance = {};
  abi::GpuInstanceInfo gpu_info = {};
  abi::ComputeInstanceInfo compute_info = {};
};

std::vector<Profile> ReadProfiles(const Library::Functions& functions, abi::Device device,
                                  Questions& ask) {
  std::vector<Profile> profiles;
  for (unsigned number = 0; number < abi::kGpuInstanceProfiles; ++number) {
    Profile profile = {.number = number};
    if (ask.AskIfAny("profile of a GPU instance", functions.gpu_instance_profile, device, number,
                     &profile.info)) {
      profiles.push_back(profile);
    }
  }
  return profiles;
}

bool FindInstance(const Library::Functions& functions, abi::Device device, abi::Device mig,
                  Questions& ask, Found& found) {
  unsigned gpu_id = 0;
  unsigned compute_id = 0;
  abi::ComputeInstance compute_instance = {};
  return ask.Ask("ID of a GPU instance", functions.gpu_instance_id, mig, &gpu_id) &&
         ask.Ask("GPU instance", functions.gpu_instance, device, gpu_id, &found.gpu_instance) &&
         ask.Ask("data of a GPU instance", functions.gpu_instance_info, found.gpu_instance,
                 &found.gpu_info) &&
         ask.Ask("ID of a compute instance", functions.compute_instance_id, mig, &compute_id) &&
         ask.Ask("compute instance", functions.compute_instance, found.gpu_instance, compute_id,
                 &compute_instance) &&
         ask.Ask("data of a compute instance", functions.compute_instance_info, compute_instance,
                 &found.compute_info);
}

// Returns whether the compute instance has all slices of its GPU instance.
bool HasAll(const Library::Functions& functions, const Found& found, unsigned slices) {
  for (unsigned number = 0; number < abi::kComputeInstanceProfiles; ++number) {
    if (SlicesOfComputeInstance(number) != slices) continue;
    abi::ComputeInstanceProfile profile = {};
    const bool has_answer =
        functions.compute_instance_profile != nullptr &&
        functions.compute_instance_profile(found.gpu_instance, number, abi::kSharedEngines,
                                           &profile) == abi::kSuccess;
    if (has_answer && profile.id == found.compute_info.profile_id) return true;
  }
  return false;
}

MigProfile ValuesOf(const abi::GpuInstanceProfile& info) {
  return {.id = static_cast<int>(info.id),
          .memory_mib = info.memory_mib,
          .multiprocessors = info.multiprocessors,
          .copy_engines = info.copy_engines,
          .decoders = info.decoders,
          .encoders = info.encoders,
          .jpeg_engines = info.jpeg_engines,
          .ofa_engines = info.ofa_engines};
}

// Sets the numbers of an instance. NVML's may be anything.
void SetNumbers(const Found& found, Questions& ask, MigInstance& instance) {
  const auto& [start, size] = found.gpu_info.placement;
  if (found.gpu_info.id > kInstanceIdMax || found.compute_info.id > kInstanceIdMax ||
      found.gpu_info.profile_id > kInstanceIdMax) {
    return ask.Fail("NVML gives an instance an ID that cannot be right");
  }
  if (size == 0 || size > kMemorySlicesMax || start > kMemorySlicesMax - size) {
    return ask.Fail("NVML gives an instance memory slices that no GPU has");
  }
  instance.gpu_instance = static_cast<int>(found.gpu_info.id);
  instance.compute_instance = static_cast<int>(found.compute_info.id);
  instance.placement_start = start;
  instance.placement_size = size;
}

MigInstance ReadInstance(const Library::Functions& functions, abi::Device device, abi::Device mig,
                         const std::vector<Profile>& profiles,
                         std::optional<std::uint64_t> gpu_memory, Questions& ask) {
  MigInstance instance;
  std::array<char, abi::kTextMax> uuid = {};
  if (!ask.Ask("UUID of a MIG device", functions.uuid, mig, uuid.data(), abi::kTextMax)) {
    return instance;
  }
  if (!IsUuid(TextIn(uuid))) {
    ask.Fail("NVML gives an instance a UUID that cannot be right");
    return instance;
  }
  instance.uuid = TextIn(uuid);
  Found found;
  if (!FindInstance(functions, device, mig, ask, found)) return instance;
  SetNumbers(found, ask, instance);
  if (ask.error()) return instance;
  const auto id_of = [](const Profile& profile) { return profile.info.id; };
  const auto profile = std::ranges::find(profiles, found.gpu_info.profile_id, id_of);
  if (profile == profiles.end() || profile->info.memory_mib > kMemoryMibMax) {
    ask.Fail("NVML does not describe the profile of the GPU instance");
    return instance;
  }
  instance.profile = ValuesOf(profile->info);
  instance.profile.name = MigProfileName(profile->number, profile->info.memory_mib, gpu_memory);
  if (instance.profile.name.empty()) {
    ask.Fail("the profile of the GPU instance has no name");
  } else if (!HasAll(functions, found, SlicesOfGpuInstance(profile->number))) {
    ask.Fail("the compute instance has only a part of its GPU instance");
  }
  return instance;
}

}  // namespace

bool IsUuid(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '/';  // Older drivers name instances "MIG-GPU-<uuid>/<id>/<id>".
  };
  return !text.empty() && text.size() <= kUuidMax && std::ranges::all_of(text, is_allowed);
}

void ReadInstances(const Library::Functions& functions, abi::Device device, Questions& ask,
                   Gpu& gpu) {
  unsigned count = 0;
  if (!ask.Ask("number of MIG devices", functions.mig_count, device, &count)) return;
  const std::vector<Profile> profiles = ReadProfiles(functions, device, ask);
  if (ask.error()) return;
  for (unsigned i = 0; i < std::min(count, kMigInstancesMax); ++i) {
    Questions about(functions);
    abi::Device mig = nullptr;
    MigInstance instance;
    if (about.AskIfAny("a MIG device", functions.mig_device, device, i, &mig)) {
      instance = ReadInstance(functions, device, mig, profiles, gpu.memory_bytes, about);
    } else if (!about.error()) {
      continue;  // Numbers of devices that do not exist are skipped.
    }
    instance.error = about.error();
    if (instance.error && IsLost(*instance.error)) return ask.Fail(*instance.error);
    gpu.instances.push_back(std::move(instance));
  }
}

}  // namespace nvml

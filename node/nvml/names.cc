#include "node/nvml/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "node/nvml/abi.h"
#include "node/nvml/gpu.h"

namespace nvml {

namespace {

constexpr auto kBrands = std::to_array<std::string_view>(
    {"Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC",
     "NvidiaVCS", "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia",
     "GeForceRTX", "TitanRTX"});

// 11 and 12 are not GPUs.
constexpr auto kArchitectures = std::to_array<std::string_view>(
    {"Unknown", "Unknown", "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere",
     "Ada Lovelace", "Hopper", "Blackwell", "Unknown", "Unknown", "Rubin"});

constexpr auto kAddressingModes = std::to_array<std::string_view>({"None", "HMM", "ATS"});

struct GpuInstanceProfile {
  unsigned slices = 0;
  std::string_view suffix = {};  // What sets it apart from others with as many slices.
};
constexpr auto kGpuInstanceProfiles = std::to_array<GpuInstanceProfile>({{1},
                                                                         {2},
                                                                         {3},
                                                                         {4},
                                                                         {7},
                                                                         {8},
                                                                         {6},
                                                                         {1, "+me"},
                                                                         {2, "+me"},
                                                                         {1},
                                                                         {1, "+gfx"},
                                                                         {2, "+gfx"},
                                                                         {4, "+gfx"},
                                                                         {1, "-me"},
                                                                         {2, "-me"},
                                                                         {1, "+me.all"},
                                                                         {2, "+me.all"},
                                                                         {3, "+gfx"}});
static_assert(kGpuInstanceProfiles.size() == abi::kGpuInstanceProfiles);
constexpr auto kComputeInstanceProfiles = std::to_array<unsigned>({1, 2, 3, 4, 7, 8, 6, 1, 7});
static_assert(kComputeInstanceProfiles.size() == abi::kComputeInstanceProfiles);

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 50U;  // Of a GPU, in bytes.

// Memory is given to instances in eighths.
constexpr std::uint64_t kParts = 8;

// Returns the number in `text`, if it is all hexadecimal digits, at least `digits_min`.
std::optional<unsigned> HexIn(std::string_view text, std::size_t digits_min,
                              std::size_t digits_max) {
  if (text.size() < digits_min || text.size() > digits_max) return {};
  unsigned number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return number;
}

std::string Hex(unsigned number, std::size_t digits_min) {
  std::array<char, 8> digits = {};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(digits_min - std::min(digits_min, text.size()), '0') + text;
}

}  // namespace

bool IsLost(const DeviceError& error) { return error.code == abi::kGpuIsLost; }

std::string_view BrandName(unsigned brand) { return kBrands[brand < kBrands.size() ? brand : 0]; }

std::string_view ArchitectureName(unsigned architecture) {
  return kArchitectures[architecture < kArchitectures.size() ? architecture : 0];
}

std::string_view AddressingModeName(unsigned mode) {
  return mode < kAddressingModes.size() ? kAddressingModes[mode] : std::string_view();
}

std::string PciAddressOf(std::string_view bus_id) {
  // domain:bus:device.function
  constexpr std::size_t kTail = std::string_view(":65:00.0").size();
  if (bus_id.size() < kTail) return {};
  const std::string_view tail = bus_id.substr(bus_id.size() - kTail);
  const auto domain = HexIn(bus_id.substr(0, bus_id.size() - kTail), 4, 8);
  const auto bus = HexIn(tail.substr(1, 2), 2, 2);
  const auto device = HexIn(tail.substr(4, 2), 2, 2);
  const auto function = HexIn(tail.substr(7), 1, 1);
  if (tail[0] != ':' || tail[3] != ':' || tail[6] != '.') return {};
  if (!domain || !bus || !device || !function) return {};
  return Hex(*domain, 4) + ":" + Hex(*bus, 2) + ":" + Hex(*device, 2) + "." + Hex(*function, 1);
}

unsigned SlicesOfGpuInstance(unsigned profile) {
  return profile < kGpuInstanceProfiles.size() ? kGpuInstanceProfiles[profile].slices : 0;
}

unsigned SlicesOfComputeInstance(unsigned profile) {
  return profile < kComputeInstanceProfiles.size() ? kComputeInstanceProfiles[profile] : 0;
}

std::string MigProfileName(unsigned profile, std::uint64_t memory_mib,
                           std::optional<std::uint64_t> gpu_memory_bytes) {
  const std::uint64_t all = gpu_memory_bytes.value_or(0);
  if (profile >= kGpuInstanceProfiles.size() || all == 0 || all > kMemoryMax) return {};
  if (memory_mib > 2 * (all / kMib)) return {};
  // The driver keeps some memory for itself, so both are rounded up: an instance to eighths of its
  // GPU, and the GPU to GiB.
  const std::uint64_t eighths = (memory_mib * kMib * kParts + all - 1) / all;
  const std::uint64_t gib = (all + kGib - 1) / kGib;
  const std::uint64_t rounded = (eighths * gib + kParts / 2) / kParts;
  const auto& [slices, suffix] = kGpuInstanceProfiles[profile];
  return std::to_string(slices) + "g." + std::to_string(rounded) + "gb" + std::string(suffix);
}

}  // namespace nvml

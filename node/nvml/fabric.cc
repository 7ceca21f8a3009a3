#include "node/nvml/fabric.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "node/nvml/abi.h"

namespace nvml {

namespace {

bool HasCluster(const Fabric& fabric) {
  return std::ranges::any_of(fabric.cluster, [](std::uint8_t byte) { return byte != 0; });
}

// Returns whether the GPU is in a fabric.
base::Result<bool> IsAttached(const Fabric& fabric, Strictness strictness) {
  const std::string gpu = "GPU " + std::to_string(fabric.gpu);
  if (fabric.state == Fabric::State::kNotSupported) return false;
  if (fabric.state != Fabric::State::kCompleted) {
    if (strictness == Strictness::kCompletedOnes) return false;
    return base::Unavailable(gpu + " has not joined its NVLink fabric yet");
  }
  if (fabric.status != 0) {
    return base::Invalid(gpu + " could not join its NVLink fabric: NVML says " +
                         std::to_string(fabric.status));
  }
  return HasCluster(fabric);
}

constexpr std::array<std::pair<unsigned, std::string_view>, 4> kFlags = {
    {{abi::kDegradedBandwidth, "degraded bandwidth"},
     {abi::kRouteRecovery, "route recovery in progress"},
     {abi::kRouteUnhealthy, "route unhealthy"},
     {abi::kAccessTimeoutRecovery, "recovery from an access timeout"}}};

std::string TroubleOf(std::uint32_t health) {
  std::string trouble;
  const auto add = [&trouble](std::string_view what) {
    trouble.append(trouble.empty() ? "" : ", ").append(what);
  };
  for (const auto& [shift, name] : kFlags) {
    if (((health >> shift) & abi::kFlagMask) == abi::kTrue) add(name);
  }
  const unsigned configuration = (health >> abi::kConfiguration) & abi::kConfigurationMask;
  if (configuration > abi::kConfigurationNone) add("incorrect configuration");
  return trouble;
}

}  // namespace

std::string NameOf(const Fabric& fabric) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string name;
  for (std::size_t i = 0; i < fabric.cluster.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    name += kHex[fabric.cluster[i] >> 4U];
    name += kHex[fabric.cluster[i] & 15U];
  }
  return name + "." + std::to_string(fabric.clique);
}

std::string HealthTrouble(const std::vector<Fabric>& gpus) {
  std::string text;
  for (const Fabric& fabric : gpus) {
    const std::string trouble = TroubleOf(fabric.health);
    if (trouble.empty()) continue;
    text.append(text.empty() ? "" : "; ");
    text += "GPU " + std::to_string(fabric.gpu) + ": " + trouble;
  }
  return text;
}

base::Result<std::string> CliqueOf(const std::vector<Fabric>& gpus, Strictness strictness) {
  std::string clique;
  int first = 0;
  for (const Fabric& fabric : gpus) {
    auto attached = IsAttached(fabric, strictness);
    if (!attached && strictness != Strictness::kOnlyAttached) {
      return tl::unexpected(std::move(attached).error());
    }
    if (!attached.value_or(false)) continue;
    const std::string name = NameOf(fabric);
    if (!clique.empty() && clique != name) {
      return base::Invalid("GPU " + std::to_string(first) + " is in NVLink clique " + clique +
                           ", GPU " + std::to_string(fabric.gpu) + " of the same node in " + name);
    }
    if (clique.empty()) first = fabric.gpu;
    clique = name;
  }
  return clique;
}

bool KnowsNames(std::string_view driver_version) {
  constexpr std::array<int, 3> kFirst = {570, 158, 1};
  std::array<int, 3> version = {};
  for (int& part : version) {
    const auto [stop, error] =
        std::from_chars(driver_version.data(), driver_version.data() + driver_version.size(), part);
    if (error != std::errc()) break;
    driver_version.remove_prefix(static_cast<std::size_t>(stop - driver_version.data()));
    if (!driver_version.starts_with('.')) break;
    driver_version.remove_prefix(1);
  }
  return version >= kFirst;
}

}  // namespace nvml

#include "node/nvml/fabric.h"

#include <utility>

#include "node/nvml/abi.h"
#include "pkg/base/text.h"

namespace nvml {

namespace {

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
  return fabric.cluster != Fabric().cluster;  // Zeros mean that it has none.
}

constexpr std::array<std::pair<unsigned, std::string_view>, 4> kFlags = {
    {{abi::kDegradedBandwidth, "degraded bandwidth"},
     {abi::kRouteRecovery, "route recovery in progress"},
     {abi::kRouteUnhealthy, "route unhealthy"},
     {abi::kAccessTimeoutRecovery, "recovery from an access timeout"}}};

std::string TroubleOf(std::uint32_t health) {
  std::vector<std::string> trouble;
  for (const auto& [shift, name] : kFlags) {
    if (((health >> shift) & abi::kFlagMask) == abi::kTrue) trouble.emplace_back(name);
  }
  const unsigned configuration = (health >> abi::kConfiguration) & abi::kConfigurationMask;
  if (configuration > abi::kConfigurationNone) trouble.emplace_back("incorrect configuration");
  return base::Join(trouble);
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
  return base::VersionIn(driver_version) >= std::vector{570, 158, 1};
}

}  // namespace nvml

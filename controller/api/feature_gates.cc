#include "controller/api/feature_gates.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "pkg/base/check.h"
#include "pkg/base/did_you_mean.h"
#include "pkg/base/find.h"
#include "pkg/base/text.h"
#include "pkg/json/utf8.h"
#include "pkg/json/value.h"

namespace api {

namespace {

using base::ParseGoBool, base::Trim;

constexpr std::size_t kQuotedMax = 80;

// Gates that change nothing of domains. Read in NVIDIA's driver 0.5.0 and main of 2026-08-07, with
// the gates of Kubernetes' log library; PerNodeGPUConfig in a proposal of 2026.
constexpr auto kNotOfDomains = std::to_array<std::string_view>(
    {"AllAlpha", "AllBeta", "ConsumableShares", "ContextualLogging", "DRAListTypeAttributes",
     "DeviceMetadata", "DynamicMIG", "LoggingAlphaOptions", "LoggingBetaOptions", "MPSSupport",
     "NVMLDeviceHealthCheck", "PassthroughSupport", "PerNodeGPUConfig", "TimeSlicingSettings"});

// Gates of GPUs: all are alpha, and off by default.
struct GpuGate {
  std::string_view name;
  std::string_view cost;  // If it is on.
};
constexpr auto kOfGpus = std::to_array<GpuGate>({
    {"ConsumableShares", "each GPU is given to one claim, whole"},
    {"DRAListTypeAttributes", "a GPU has one NUMA node, if it is published"},
    {"DeviceMetadata", "pods get no files that describe their devices"},
    {"DynamicMIG", "only MIG devices that an administrator has made are published"},
    {"FabricManagerPartitioning", "GPUs are published without their partitions"},
    {"MPSSupport", "claims that ask for MPS are refused"},
    {"NVMLDeviceHealthCheck", "devices get no taints. A GPU that is lost is no longer published"},
    {"PassthroughSupport", "no GPU is published for virtual machines"},
    {"PerNodeGPUConfig", "all nodes have the same settings"},
    {"TimeSlicingSettings", "claims that ask for time-slicing are refused"},
});
constexpr std::string_view kGpuRemedy =
    "Remove the gate, or keep NVIDIA's plugin for GPUs on nodes that need it";

struct DomainGate {
  std::string_view name;
  bool by_default;  // In NVIDIA's driver, a gate that is on by default is beta, all others alpha.
  bool is_of_daemons = false;
  // For the value that is not the default. Both empty if cdom does what either value asks for.
  std::string_view cost = {};
  std::string_view remedy = {};
};

// Gates of domains, and the version in which each was read.
constexpr auto kOfDomains = std::to_array<DomainGate>({
    // 0.5.0. Off: daemons write status.nodes of their domain, and no clique exists.
    {.name = "ComputeDomainCliques",
     .by_default = true,
     .is_of_daemons = true,
     .cost = "domains are served with cliques, and the controller copies their members into "
             "status.nodes",
     .remedy = "Remove the gate"},
    {.name = "CrashOnNVLinkFabricErrors", .by_default = true},   // 0.5.0
    {.name = "FabricManagerPartitioning", .by_default = false},  // 0.5.0; also of GPUs.
    {.name = "HostManagedIMEXDaemon", .by_default = false},      // 0.5.0; permits --imex-mode.
    // 0.5.0. Off: nodes.cfg has addresses, because older drivers do not look names up again.
    {.name = "IMEXDaemonsWithDNSNames",
     .by_default = true,
     .is_of_daemons = true,
     .cost = "nodes with NVIDIA's driver before 570.158.01 are not served",
     .remedy = "Upgrade the driver of such nodes, and remove the gate"},
    // Pull request 1449 of NVIDIA's driver, for 0.6; open on 2026-09-15.
    {.name = "NodeLocalFabricIPC",
     .by_default = false,
     .cost = "nodes without an NVLink clique get no IMEX and no channel",
     .remedy = "Run these jobs on nodes of a clique, or remove the gate"},
    // Pull request 1358, a draft of 2026-08-17. The kubelet plugin does it if POD_UID is set.
    {.name = "SeamlessUpgrades", .by_default = false},
});

bool IsKnown(std::string_view name) {
  return base::Contains(kNotOfDomains, name) || base::Contains(kOfDomains, name, &DomainGate::name);
}

// Returns " (did you mean X?)". Empty if no known gate is similar.
std::string HintFor(std::string_view name) {
  std::vector<std::string> known(kNotOfDomains.begin(), kNotOfDomains.end());
  for (const DomainGate& gate : kOfDomains) known.emplace_back(gate.name);
  const std::string nearest = base::Nearest(name, known);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

}  // namespace

base::Result<FeatureGates> FeatureGates::Read(const std::string& text) {
  FeatureGates gates;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    const std::string_view gate = Trim(item);
    if (gate.empty()) continue;
    const std::size_t equals = gate.find('=');
    const std::string_view name = Trim(gate.substr(0, equals));
    const std::optional<bool> value = equals == std::string_view::npos
                                          ? std::nullopt
                                          : ParseGoBool(Trim(gate.substr(equals + 1)));
    if (name.empty() || !value) {
      const std::string form = name.empty() ? "NAME" : json::OneLine(name, kQuotedMax);
      return base::Invalid("feature gate \"" + json::OneLine(gate, kQuotedMax) + "\" must be " +
                           form + "=true or " + form + "=false");
    }
    gates.set_[std::string(name)] = *value;
  }
  return gates;
}

bool FeatureGates::IsOn(std::string_view name) const {
  const auto* const gate = std::ranges::find(kOfDomains, name, &DomainGate::name);
  CHECK(gate != kOfDomains.end());
  for (const std::string_view by :
       {name, std::string_view(gate->by_default ? "AllBeta" : "AllAlpha")}) {
    if (const auto found = set_.find(by); found != set_.end()) return found->second;
  }
  return gate->by_default;
}

std::string FeatureGates::ToJson() const {
  json::Value all = json::Value::Object({});
  for (const std::string_view name : kNotOfDomains) all[std::string(name)] = false;
  for (const DomainGate& gate : kOfDomains) all[std::string(gate.name)] = IsOn(gate.name);
  for (const auto& [name, value] : set_) all[json::OneLine(name, kQuotedMax)] = value;
  return json::Serialize(all);
}

IgnoredGates FeatureGates::Unknown() const {
  IgnoredGates unknown;
  for (const auto& [name, value] : set_) {
    if (!IsKnown(name)) {
      unknown.push_back({.name = json::OneLine(name, kQuotedMax), .value = value});
    }
  }
  return unknown;
}

IgnoredGates FeatureGates::IgnoredOfGpus() const {
  IgnoredGates ignored = Unknown();
  const bool all = base::FindOr(set_, "AllAlpha", false);
  for (const GpuGate& gate : kOfGpus) {
    if (!base::FindOr(set_, gate.name, all)) continue;
    ignored.push_back({.name = std::string(gate.name),
                       .value = true,
                       .cost = std::string(gate.cost),
                       .remedy = std::string(kGpuRemedy)});
  }
  return ignored;
}

IgnoredGates FeatureGates::Ignored(bool imex_on_hosts) const {
  IgnoredGates ignored = Unknown();
  for (const DomainGate& gate : kOfDomains) {
    const bool value = IsOn(gate.name);
    const bool is_served = value == gate.by_default || gate.cost.empty();
    if (is_served || (gate.is_of_daemons && imex_on_hosts)) continue;
    ignored.push_back({.name = std::string(gate.name),
                       .value = value,
                       .cost = std::string(gate.cost),
                       .remedy = std::string(gate.remedy)});
  }
  return ignored;
}

void LogIgnored(const IgnoredGates& gates, base::Logger& logger) {
  std::string unknown;
  for (const IgnoredGate& gate : gates) {
    if (gate.IsUnknown()) {
      unknown += (unknown.empty() ? "" : ", ") + gate.Setting() + HintFor(gate.name);
    } else {
      logger.Warning("A feature gate is not supported",
                     {{"gate", gate.Setting()}, {"cost", gate.cost}, {"remedy", gate.remedy}});
    }
  }
  if (!unknown.empty()) logger.Warning("Ignoring unknown feature gates", {{"gates", unknown}});
}

std::vector<std::string> TextsOf(const IgnoredGates& gates) {
  std::vector<std::string> texts;
  for (const IgnoredGate& gate : gates) {
    if (gate.IsUnknown()) continue;
    texts.push_back("Feature gate " + gate.Setting() + " is not supported: " + gate.cost + ". " +
                    gate.remedy + ".");
  }
  return texts;
}

std::vector<std::map<std::string, std::string>> LabelsOf(const IgnoredGates& gates) {
  std::vector<std::map<std::string, std::string>> labels;
  for (const IgnoredGate& gate : gates) {
    labels.push_back({{"gate", gate.name},
                      {"value", gate.value ? "true" : "false"},
                      {"why", gate.IsUnknown() ? "unknown" : "unsupported"}});
  }
  return labels;
}

}  // namespace api

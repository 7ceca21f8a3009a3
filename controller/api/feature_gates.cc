#include "controller/api/feature_gates.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "pkg/base/did_you_mean.h"
#include "pkg/json/utf8.h"

namespace api {

constexpr std::size_t kQuotedMax = 80;
constexpr auto kKnown = std::to_array<std::string_view>(
    {"AllAlpha", "AllBeta", "ComputeDomainCliques", "ConsumableShares", "ContextualLogging",
     "CrashOnNVLinkFabricErrors", "DRAListTypeAttributes", "DeviceMetadata", "DynamicMIG",
     "FabricManagerPartitioning", "HostManagedIMEXDaemon", "IMEXDaemonsWithDNSNames",
     "LoggingAlphaOptions", "LoggingBetaOptions", "MPSSupport", "NVMLDeviceHealthCheck",
     "PassthroughSupport", "TimeSlicingSettings"});

namespace {

tl::unexpected<base::Error> Unknown(const std::string& name, std::string_view program) {
  const std::string unknown = "feature gate \"" + json::OneLine(name, kQuotedMax) +
                              "\" is not known to this " + std::string(program);
  const std::vector<std::string> known(kKnown.begin(), kKnown.end());
  const std::string hint = base::DidYouMean(name, known);
  if (!hint.empty()) return base::Invalid(unknown + hint);
  if (program == kController) return base::Invalid(unknown + ": take it out");
  return base::Invalid(unknown + ": take it out of FEATURE_GATES, or use a controller and a " +
                       std::string(program) + " of one version");
}

}  // namespace

base::Result<std::map<std::string, bool>> ReadFeatureGates(const std::string& text,
                                                           std::string_view program) {
  std::map<std::string, bool> gates;
  std::istringstream list(text);
  for (std::string gate; std::getline(list, gate, ',');) {
    if (gate.empty()) continue;
    const std::string said = "feature gate \"" + json::OneLine(gate, kQuotedMax) + "\"";
    const std::size_t equals = std::min(gate.find('='), gate.size());
    const std::string name = gate.substr(0, equals);
    const std::string value = gate.substr(std::min(equals + 1, gate.size()));
    if (std::ranges::find(kKnown, name) == kKnown.end()) return Unknown(name, program);
    if (value != "true" && value != "false") {
      return base::Invalid(said + " must be " + name + "=true or " + name + "=false");
    }
    gates[name] = value == "true";
  }
  return gates;
}

}  // namespace api

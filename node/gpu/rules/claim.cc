#include "node/gpu/rules/claim.h"

#include <algorithm>
#include <utility>

#include "node/gpu/rules/config.h"
#include "pkg/json/utf8.h"

namespace gpu {

namespace {

using base::Invalid, base::Result;

// Checks each configuration, and whether it fits the devices whose request it names.
Result<void> CheckConfigurations(const std::vector<WantedDevice>& devices, json::View status,
                                 dra::Decoding decoding) {
  for (const dra::Configuration& one : TRY(dra::ConfigurationsIn(status, kDriver))) {
    const ConfigOf of = TRY(DecodeConfig(one.parameters, decoding));
    for (const WantedDevice& device : devices) {
      const bool is_for_mig = of == ConfigOf::kMig;
      if (!one.Names(device.allocated.request) || is_for_mig == device.name.mig.has_value()) {
        continue;
      }
      return Invalid("request " + json::OneLine(device.allocated.request, dra::kShownMax) +
                     " has a " + (is_for_mig ? "MigDeviceConfig" : "GpuConfig") +
                     ", and was given " + device.allocated.device);
    }
  }
  return {};
}

}  // namespace

bool Wanted::IsOn(const std::string& node) const {
  return std::ranges::all_of(
      devices, [&node](const WantedDevice& device) { return device.allocated.pool == node; });
}

Result<Wanted> Wanted::Decode(std::string_view own_part, dra::Decoding decoding) {
  const json::Document status = TRY(json::Document::Parse(own_part));
  Wanted wanted;
  for (dra::Allocated& device : dra::DevicesIn(status)) {
    const auto name = ParseDeviceName(device.device);
    if (!name) return Invalid("no GPU is called " + json::OneLine(device.device, dra::kShownMax));
    wanted.devices.push_back({.allocated = std::move(device), .name = *name});
  }
  if (wanted.devices.empty()) {
    return Invalid("the claim holds no device of " + std::string(kDriver));
  }
  TRY(CheckConfigurations(wanted.devices, status, decoding));
  return wanted;
}

}  // namespace gpu

#include "node/plugin/rules/claim.h"

#include <string>
#include <utility>
#include <vector>

#include "pkg/base/number.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using base::Invalid, base::Result;
using dra::Allocated, dra::Decoding, dra::kShownMax;

Result<OpaqueConfig> ConfigFor(const Allocated& device, DeviceType type, json::View status,
                               Decoding decoding) {
  std::vector<std::pair<bool, OpaqueConfig>> configs;  // Whether it names the request.
  for (const auto& one : TRY(dra::ConfigurationsIn(status, api::kDriver))) {
    OpaqueConfig config = TRY(DecodeConfig(one.parameters, decoding));
    const bool is_named = one.Names(device.request);
    if (is_named || one.requests.empty()) configs.emplace_back(is_named, std::move(config));
  }
  for (auto it = configs.rbegin(); it != configs.rend(); ++it) {
    if (it->second.type == type) return it->second;
    if (!it->first) continue;
    return Invalid("request " + json::OneLine(device.request, kShownMax) +
                   " has a configuration of a " + std::string(NameOf(it->second.type)) +
                   ", and was given " + device.device);
  }
  return Invalid("request " + json::OneLine(device.request, kShownMax) +
                 " has no configuration that names a ComputeDomain");
}

}  // namespace

std::optional<DeviceName> ParseDeviceName(std::string_view name) {
  DeviceName parsed;
  if (name == "daemon-0") return DeviceName{.type = DeviceType::kDaemon};
  if (!name.starts_with(api::kChannelDevicePrefix)) return {};
  name.remove_prefix(api::kChannelDevicePrefix.size());
  parsed.id = base::ParseNumber<std::int64_t>(name).value_or(-1);
  if (parsed.id < 0 || parsed.id >= kChannels) return {};
  if (std::to_string(parsed.id) != name) return {};  // A number has only one name.
  return parsed;
}

Result<Wanted> Wanted::Decode(std::string_view own_part, Decoding decoding) {
  const json::Document status = TRY(json::Document::Parse(own_part));
  const std::vector<Allocated> devices = dra::DevicesIn(status);
  if (devices.size() != 1) {
    return Invalid("the claim holds " + std::to_string(devices.size()) + " devices of " +
                   std::string(api::kDriver) + "; it must hold one");
  }
  const auto name = ParseDeviceName(devices[0].device);
  if (!name) return Invalid("no device is called " + json::OneLine(devices[0].device, kShownMax));
  return Wanted{.device = devices[0],
                .name = *name,
                .config = TRY(ConfigFor(devices[0], name->type, status, decoding))};
}

}  // namespace plugin

#include "node/plugin/rules/claim.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "node/cdi/files.h"
#include "pkg/base/number.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/api/meta.h"

namespace plugin {

namespace {

using base::Invalid, base::Result;

std::string MainRequest(std::string_view request) {
  return std::string(request.substr(0, request.find('/')));
}

std::vector<Allocated> DevicesIn(json::View status) {
  std::vector<Allocated> devices;
  status["allocation"]["devices"]["results"].ForEach([&devices](json::View result) {
    if (result["driver"].AsString() != api::kDriver) return;
    devices.push_back({.request = MainRequest(result["request"].AsString()),
                       .pool = std::string(result["pool"].AsString()),
                       .device = std::string(result["device"].AsString()),
                       .admin_access = result["adminAccess"].AsBool()});
  });
  return devices;
}

struct Entry {
  std::vector<std::string> requests = {};
  OpaqueConfig config = {};
};

// Returns the configs of this driver, in rising precedence.
Result<std::vector<Entry>> EntriesIn(json::View list, Decoding decoding) {
  std::vector<Entry> of_class;
  std::vector<Entry> of_claim;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json::View item = list.at(i);
    const std::string_view source = item["source"].AsString();
    if (source != "FromClass" && source != "FromClaim") {
      return Invalid("configuration with an unknown source: \"" + json::OneLine(source, kShownMax) +
                     "\"");
    }
    if (!item["opaque"].IsObject()) return Invalid("configuration without opaque");
    if (item["opaque"]["driver"].AsString() != api::kDriver) continue;
    Entry entry = {.config = TRY(DecodeConfig(item["opaque"]["parameters"], decoding))};
    item["requests"].ForEach(
        [&](json::View request) { entry.requests.emplace_back(request.AsString()); });
    (source == "FromClass" ? of_class : of_claim).push_back(std::move(entry));
  }
  std::ranges::move(of_claim, std::back_inserter(of_class));
  return of_class;
}

Result<OpaqueConfig> ConfigFor(const Allocated& device, DeviceType type,
                               const std::vector<Entry>& entries) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const bool is_named = std::ranges::any_of(entry->requests, [&](const std::string& request) {
      return MainRequest(request) == device.request;
    });
    if (!is_named && !entry->requests.empty()) continue;
    if (entry->config.type == type) return entry->config;
    if (!is_named) continue;
    return Invalid("request " + json::OneLine(device.request, kShownMax) +
                   " has a configuration of a " + std::string(NameOf(entry->config.type)) +
                   ", and was given " + device.device);
  }
  return Invalid("request " + json::OneLine(device.request, kShownMax) +
                 " has no configuration that names a ComputeDomain");
}

Result<Wanted> WantedIn(json::View status, Decoding decoding) {
  const std::vector<Allocated> devices = DevicesIn(status);
  if (devices.size() != 1) {
    return Invalid("the claim holds " + std::to_string(devices.size()) + " devices of " +
                   std::string(api::kDriver) + "; it must hold one");
  }
  const auto name = ParseDeviceName(devices[0].device);
  if (!name) return Invalid("no device is called " + json::OneLine(devices[0].device, kShownMax));
  const std::vector<Entry> configs =
      TRY(EntriesIn(status["allocation"]["devices"]["config"], decoding));
  return Wanted{.device = devices[0],
                .name = *name,
                .config = TRY(ConfigFor(devices[0], name->type, configs))};
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

Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text) {
  const json::Document object = TRY(json::Document::Parse(text));
  const kube::ObjectMeta meta = TRY(kube::DecodeMeta(object));
  if (!cdi::IsFileSafe(meta.uid)) {
    return Invalid("UID \"" + json::OneLine(meta.uid, kShownMax) + "\" is not a UID");
  }
  json::Value whole = TRY(json::Parse(text));
  ClaimToPrepare claim = {.uid = meta.uid, .name = meta.key.name, .ns = meta.key.ns};
  if (json::Value* status = whole.Find("status")) claim.status = std::move(*status);
  claim.is_allocated = claim.status["allocation"].IsObject();
  // Not from the Value, which keeps the last of two members with the same name.
  claim.wanted = WantedIn(object["status"], Decoding::kStrict);
  return claim;
}

Result<Wanted> WantedBy(const json::Value& status) {
  const std::string text = json::Serialize(status);
  const json::Document view = TRY(json::Document::Parse(text));
  return WantedIn(view, Decoding::kLenient);
}

}  // namespace plugin

#include "node/plugin/rules/claim_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "node/dra/rules/go_json.h"
#include "pkg/base/number.h"
#include "pkg/json/slices.h"
#include "pkg/json/utf8.h"

namespace plugin {

namespace {

using base::Invalid, base::Result;

// --- Cutting

bool IsOfThisDriver(std::string_view object) {
  return json::SliceOf(object, "driver") == "\"" + std::string(api::kDriver) + "\"";
}

// Returns whether a configuration is for this driver. One that is for no driver counts, so that it
// stays what it is when it is read again.
bool IsOwnConfig(std::string_view config) {
  const std::string driver = json::TextOf(json::SliceOf(config, "opaque"), "driver");
  return driver.empty() || driver == api::kDriver;
}

tl::unexpected<base::Error> RefuseLarger(const std::string& bound) {
  return Invalid(
      "the claim's status has more than " + bound + " for " + std::string(api::kDriver) +
      " and the pods that use it. Remove configurations of this driver from the claim, or "
      "use it with fewer pods");
}

// Collects JSON up to a bound.
class BoundedText {
 public:
  bool is_full() const { return text_.size() > kStatusBytesMax; }
  void Add(std::string_view text) {
    if (!is_full()) text_ += text;
  }
  // Adds a member with the items of `list` that `is_own` accepts.
  void AddItems(const char* name, std::string_view list, bool (*is_own)(std::string_view)) {
    Add(name);
    const char* separator = "[";
    // What is malformed is found when the whole is parsed.
    static_cast<void>(json::ForEachSlice(list, [&](std::string_view, std::string_view item) {
      if (is_full() || !is_own(item)) return;
      Add(std::exchange(separator, ","));
      Add(item);
    }));
    Add(*separator == '[' ? "[]" : "]");
  }
  void AddMember(const char* name, std::string_view value) {
    if (value.empty()) return;
    Add(name);
    Add(value);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// --- Decoding

std::string MainRequest(std::string_view request) {
  return std::string(request.substr(0, request.find('/')));
}

std::vector<Allocated> DevicesIn(json::View status) {
  std::vector<Allocated> devices;
  status["allocation"]["devices"]["results"].ForEach([&devices](json::View result) {
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

// Returns the configs in rising precedence.
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

Result<std::string> OwnPart(std::string_view status) {
  const std::string_view allocation = json::SliceOf(status, "allocation");
  const std::string_view devices = json::SliceOf(allocation, "devices");
  BoundedText own;
  own.Add("{");
  if (allocation.starts_with('{')) {
    own.AddItems(R"("allocation":{"devices":{"results":)", json::SliceOf(devices, "results"),
                 IsOfThisDriver);
    own.AddItems(R"(,"config":)", json::SliceOf(devices, "config"), IsOwnConfig);
    own.Add("}");
    own.AddMember(R"(,"nodeSelector":)", json::SliceOf(allocation, "nodeSelector"));
    own.AddMember(R"(,"allocationTimestamp":)", json::SliceOf(allocation, "allocationTimestamp"));
    own.Add("},");
  }
  const std::string_view consumers = json::SliceOf(status, "reservedFor");
  own.AddMember(R"("reservedFor":)", consumers.empty() ? "[]" : consumers);
  own.Add("}");
  if (own.is_full()) return RefuseLarger("65,536 bytes");
  std::string text = own.Take();
  if (json::DepthOf(text) > kStatusLevelsMax) return RefuseLarger("100 levels");
  return text;
}

Result<Wanted> WantedBy(std::string_view own_part, Decoding decoding) {
  const json::Document status = TRY(json::Document::Parse(own_part));
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

Result<ClaimStatus> ClaimStatus::Decode(std::string_view own_part) {
  std::string text = dra::GoJson(dra::CanonicalClaimStatus(TRY(json::Parse(own_part))));
  if (text.size() > kStatusBytesMax) return RefuseLarger("65,536 bytes");  // With Go's escapes.
  ClaimStatus status;
  if (text == status.text()) return status;
  auto wanted = WantedBy(text, Decoding::kLenient);
  status.content_ = std::make_shared<const Content>(
      Content{.text = std::move(text), .wanted = std::move(wanted)});
  return status;
}

const ClaimStatus::Content& ClaimStatus::Nothing() {
  static const Content kNothing = {.text = "{}", .wanted = Invalid("the claim is not allocated")};
  return kNothing;
}

const std::string& ClaimStatus::text() const { return (content_ ? *content_ : Nothing()).text; }

bool ClaimStatus::is_allocated() const { return text().starts_with(R"({"allocation":)"); }

const Result<Wanted>& ClaimStatus::wanted() const {
  return (content_ ? *content_ : Nothing()).wanted;
}

}  // namespace plugin

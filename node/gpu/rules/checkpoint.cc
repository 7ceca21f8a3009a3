#include "node/gpu/rules/checkpoint.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "node/dra/rules/go_json.h"
#include "pkg/json/value.h"

namespace gpu {

namespace {

using base::Result;
using json::Value;

// A type of devices: its member in a list of devices, and what it calls the device itself.
struct Type {
  std::string_view name;
  std::string_view info;
};
constexpr auto kTypes =
    std::to_array<Type>({{"gpu", "info"}, {"mig", "concrete"}, {"vfio", "info"}});
constexpr std::string_view kOldMigInfo = "info";

// Returns null if the text is no JSON.
Value ValueOf(std::string_view text) { return json::Parse(text).value_or(Value()); }

Value ToJson(const PreparedDevice& device) {
  Value given = Value::Object(
      {{"Requests", Value::ArrayOf(device.requests)},
       {"PoolName", device.pool},
       {"DeviceName", device.name},
       // In Go, a list to which nothing was added is null.
       {"CDIDeviceIDs", device.cdi_ids.empty() ? Value() : Value::ArrayOf(device.cdi_ids)}});
  if (!device.share_id.empty()) given["ShareID"] = device.share_id;
  if (!device.metadata.empty()) given["Metadata"] = ValueOf(device.metadata);
  Value all = Value::Object({{"gpu", Value()}, {"mig", Value()}});
  for (const Type& type : kTypes) {
    if (type.name != device.type) continue;
    all[type.name] = Value::Object(
        {{std::string(device.is_old_mig ? kOldMigInfo : type.info), ValueOf(device.info)},
         {"device", std::move(given)}});
    break;
  }
  return all;
}

Value ToJson(const std::vector<PreparedGroup>& groups) {
  return Value::ArrayOf(groups, [](const PreparedGroup& group) {
    return Value::Object(
        {{"devices", Value::ArrayOf(group.devices,
                                    [](const PreparedDevice& device) { return ToJson(device); })},
         {"configState", ValueOf(group.config_state)}});
  });
}

Result<PreparedDevice> DecodeDevice(const Value& all) {
  for (const Type& type : kTypes) {
    const Value& half = all[type.name];
    if (!half.IsObject()) continue;
    const Value& given = half["device"];
    const bool is_old_mig = type.name == "mig" && half[kOldMigInfo].IsObject();
    PreparedDevice device = {.type = std::string(type.name),
                             .info = dra::GoJson(half[is_old_mig ? kOldMigInfo : type.info]),
                             .is_old_mig = is_old_mig,
                             .requests = given["Requests"].AsTexts(),
                             .pool = given["PoolName"].AsString(),
                             .name = given["DeviceName"].AsString(),
                             .cdi_ids = given["CDIDeviceIDs"].AsTexts(),
                             .share_id = given["ShareID"].AsString()};
    if (given["Metadata"].IsObject()) device.metadata = dra::GoJson(given["Metadata"]);
    if (device.name.empty()) return base::Invalid("a prepared device has no name");
    return device;
  }
  return base::Invalid("a prepared device has no type that is known");
}

Result<std::vector<PreparedGroup>> DecodeGroups(const Value& list) {
  std::vector<PreparedGroup> groups;
  for (const Value& item : list.items()) {
    PreparedGroup group;
    if (item["configState"].IsObject()) group.config_state = dra::GoJson(item["configState"]);
    for (const Value& device : item["devices"].items()) {
      group.devices.push_back(TRY(DecodeDevice(device)));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// Returns the devices in an order of their own, each with its UUID alone as what is known of
// itself. Older versions of NVIDIA's driver store less of a MIG device.
std::vector<PreparedDevice> ToCompare(std::vector<PreparedDevice> devices) {
  for (PreparedDevice& device : devices) {
    const bool is_new_mig = device.type == "mig" && !std::exchange(device.is_old_mig, false);
    device.info = ValueOf(device.info)[is_new_mig ? "migUUID" : "uuid"].AsString();
  }
  std::ranges::sort(devices, [](const PreparedDevice& left, const PreparedDevice& right) {
    return std::tie(left.name, left.requests) < std::tie(right.name, right.requests);
  });
  return devices;
}

}  // namespace

dra::EntryText CheckpointClaim::ToText() const {
  return {.state = state,
          .status = status.text(),
          .devices = groups.empty() ? "" : dra::GoJson(ToJson(groups)),
          .name = name,
          .ns = ns};
}

std::pair<CheckpointClaim, std::string> CheckpointClaim::Read(const dra::EntryRead& entry) {
  return dra::ReadParts<Wanted, CheckpointClaim>(entry, DecodeGroups(ValueOf(entry.devices)),
                                                 {.name = entry.name, .ns = entry.ns});
}

bool HasDevices(const CheckpointClaim& claim, const PreparedGroup& group) {
  if (!MpsDaemonOf(claim).empty()) return false;
  std::vector<PreparedDevice> devices;
  for (const PreparedGroup& one : claim.groups) {
    devices.insert(devices.end(), one.devices.begin(), one.devices.end());
  }
  return ToCompare(std::move(devices)) == ToCompare(group.devices);
}

std::string MpsDaemonOf(const CheckpointClaim& claim) {
  for (const PreparedGroup& group : claim.groups) {
    std::string id(ValueOf(group.config_state)["mpsControlDaemonID"].AsString());
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace gpu

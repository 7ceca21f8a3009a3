#include "node/plugin/rules/checkpoint.h"

#include <utility>

#include "node/dra/rules/go_json.h"
#include "pkg/json/value.h"

namespace plugin {

namespace {

using base::Invalid, base::Result;
using json::Value;

Value ToJson(const PreparedDevice& device) {
  Value half = Value::Object(
      {{"info", Value::Object({{"id", device.id}})},
       {"device",
        Value::Object({{"Requests", Value::ArrayOf(device.requests)},
                       {"PoolName", device.pool},
                       {"DeviceName", device.name},
                       // In Go, a list to which nothing was added is null.
                       {"CDIDeviceIDs",
                        device.cdi_ids.empty() ? Value() : Value::ArrayOf(device.cdi_ids)}})}});
  Value both = Value::Object({{"channel", Value()}, {"daemon", Value()}});
  both[NameOf(device.type)] = std::move(half);
  return both;
}

Value ToJson(const PreparedGroup& group) {
  const auto encode = [](const PreparedDevice& device) { return ToJson(device); };
  return Value::Object({{"devices", Value::ArrayOf(group.devices, encode)},
                        {"configState", Value::Object({{"Type", NameOf(group.type)},
                                                       {"ComputeDomain", group.domain}})}});
}

Value ToJson(const std::vector<PreparedGroup>& groups) {
  return Value::ArrayOf(groups, [](const PreparedGroup& group) { return ToJson(group); });
}

Result<PreparedDevice> DecodeDevice(const Value& both) {
  const bool is_channel = both["channel"].IsObject();
  const Value& half = is_channel ? both["channel"] : both["daemon"];
  const Value& device = half["device"];
  // Before 25.3, the names are those of the kubelet's messages.
  const auto field = [&](std::string_view name, std::string_view old) -> const Value& {
    return device.Find(name) != nullptr ? device[name] : device[old];
  };
  PreparedDevice decoded = {.type = is_channel ? DeviceType::kChannel : DeviceType::kDaemon,
                            .id = half["info"]["id"].AsInt().value_or(-1),
                            .requests = field("Requests", "request_names").AsTexts(),
                            .pool = field("PoolName", "pool_name").AsString(),
                            .name = field("DeviceName", "device_name").AsString(),
                            .cdi_ids = field("CDIDeviceIDs", "cdi_device_ids").AsTexts()};
  if (decoded.name.empty() || decoded.id < 0) {
    return Invalid("a prepared device has no name or no number");
  }
  return decoded;
}

Result<std::vector<PreparedGroup>> DecodeGroups(const Value& list) {
  std::vector<PreparedGroup> groups;
  for (const Value& item : list.items()) {
    PreparedGroup group;
    for (const Value& device : item["devices"].items()) {
      group.devices.push_back(TRY(DecodeDevice(device)));
    }
    const Value& state = item["configState"];
    group.domain = state["ComputeDomain"].AsString();
    group.type = state["Type"].AsString() == "daemon" ? DeviceType::kDaemon : DeviceType::kChannel;
    groups.push_back(std::move(group));
  }
  return groups;
}

// Returns null if the text is no JSON.
Value ValueOf(std::string_view text) { return json::Parse(text).value_or(Value()); }

}  // namespace

dra::EntryText CheckpointClaim::ToText() const {
  return {.state = state,
          .status = status.text(),
          .devices = groups.empty() ? "" : dra::GoJson(ToJson(groups)),
          .name = name,
          .ns = ns,
          .aborted_at = aborted_at};
}

// An entry with an unreadable state or devices has unknown use: the node keeps its label until the
// kubelet unprepares the claim.
std::pair<CheckpointClaim, std::string> CheckpointClaim::Read(const dra::EntryRead& entry) {
  return dra::ReadParts<Wanted, CheckpointClaim>(
      entry, DecodeGroups(ValueOf(entry.devices)),
      {.name = entry.name, .ns = entry.ns, .aborted_at = entry.aborted_at});
}

}  // namespace plugin

#include "node/dra/rules/resource_slice.h"

#include <algorithm>

#include "pkg/kube/api/resource.h"

namespace dra {

namespace {

using json::Value;

constexpr std::string_view kTaintEffect = "NoSchedule";

Value ToJson(const SliceDevice& device, SliceApi api) {
  Value rendered = Value::Object({{"name", device.name}});
  Value body = Value::Object({{"attributes", device.attributes}});
  if (!device.capacity.members().empty()) body["capacity"] = device.capacity;
  if (device.taint) {
    body["taints"] = Value::Array({Value::Object({{"key", device.taint->key},
                                                  {"value", device.taint->value},
                                                  {"effect", kTaintEffect},
                                                  {"timeAdded", device.taint->since}})});
  }
  if (api == SliceApi::kV1Beta1) {
    rendered["basic"] = std::move(body);
    return rendered;
  }
  for (auto& [name, value] : body.MutableMembers()) rendered[name] = std::move(value);
  return rendered;
}

// Returns whether `found` has all of `wanted`. A newer server may add more.
bool Holds(json::View found, const Value& wanted) {
  if (wanted.IsObject()) {
    for (const auto& [name, value] : wanted.members()) {
      if (!Holds(found[name], value)) return false;
    }
    return found.IsObject();
  }
  if (wanted.IsArray()) {
    if (!found.IsArray() || found.size() != wanted.items().size()) return false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!Holds(found.at(i), wanted.items()[i])) return false;
    }
    return true;
  }
  if (wanted.IsString()) return found.AsString() == wanted.AsString();
  return wanted.AsInt() ? found.AsInt() == wanted.AsInt() : found.AsBool() == wanted.AsBool();
}

// One slice is the whole pool.
Value SpecOf(const ResourceSlice& slice, SliceApi api) {
  const auto render = [api](const SliceDevice& device) { return ToJson(device, api); };
  return Value::Object(
      {{"driver", slice.driver},
       {"nodeName", slice.node},
       {"pool",
        Value::Object({{"name", slice.node}, {"generation", 1}, {"resourceSliceCount", 1}})},
       {"devices", Value::ArrayOf(slice.devices, render)}});
}

json::View BodyOf(json::View device, SliceApi api) {
  return api == SliceApi::kV1Beta1 ? device["basic"] : device;
}

// Returns whether a device has more attributes, capacities or taints than the slice wants.
// REQUIRES: the numbers of devices are equal.
bool HasMore(json::View devices, const ResourceSlice& slice, SliceApi api) {
  for (std::size_t i = 0; i < slice.devices.size(); ++i) {
    const json::View body = BodyOf(devices.at(i), api);
    const SliceDevice& wanted = slice.devices[i];
    if (body["attributes"].size() != wanted.attributes.members().size()) return true;
    if (body["capacity"].size() != wanted.capacity.members().size()) return true;
    if (body["taints"].size() != (wanted.taint ? 1U : 0U)) return true;
  }
  return false;
}

}  // namespace

std::string_view NameOf(SliceApi api) { return kube::kDraVersions[static_cast<std::size_t>(api)]; }

base::Result<void> CheckLimits(const ResourceSlice& slice) {
  const auto has_taint = [](const SliceDevice& device) { return device.taint.has_value(); };
  const bool is_tainted = std::ranges::any_of(slice.devices, has_taint);
  const std::size_t most = is_tainted ? kDevicesWithTaintsMax : kDevicesMax;
  if (slice.devices.size() > most) {
    return base::Fail(base::ErrorCode::kTooLarge,
                      "a ResourceSlice may have " + std::to_string(most) +
                          " devices, the node has " + std::to_string(slice.devices.size()));
  }
  for (const SliceDevice& device : slice.devices) {
    const std::size_t has = device.attributes.members().size() + device.capacity.members().size();
    if (has <= kAttributesAndCapacitiesMax) continue;
    return base::Fail(base::ErrorCode::kTooLarge, "device " + device.name + " has " +
                                                      std::to_string(has) +
                                                      " attributes and capacities, but may have " +
                                                      std::to_string(kAttributesAndCapacitiesMax));
  }
  return {};
}

Value Render(const ResourceSlice& slice, SliceApi api) {
  const std::string prefix = "00000-" + slice.driver + "-" + slice.node + "-";
  Value owner = Value::Object({{"apiVersion", "v1"},
                               {"kind", "Node"},
                               {"name", slice.node},
                               {"uid", slice.node_uid},
                               {"controller", true}});
  return Value::Object(
      {{"apiVersion", "resource.k8s.io/" + std::string(NameOf(api))},
       {"kind", "ResourceSlice"},
       {"metadata", Value::Object({{"generateName", prefix},
                                   {"ownerReferences", Value::Array({std::move(owner)})}})},
       {"spec", SpecOf(slice, api)}});
}

std::optional<std::string> TaintedSince(json::View object, SliceApi version, const Taint& taint) {
  std::optional<std::string> since;
  object["spec"]["devices"].ForEach([&](json::View device) {
    BodyOf(device, version)["taints"].ForEach([&](json::View found) {
      const bool is_it = found["key"].AsString() == taint.key &&
                         found["value"].AsString() == taint.value &&
                         found["effect"].AsString() == kTaintEffect;
      const std::string_view time = found["timeAdded"].AsString();
      if (is_it && !since && !time.empty()) since = std::string(time);
    });
  });
  return since;
}

bool HasContentOf(json::View object, const ResourceSlice& slice, SliceApi api) {
  const json::View spec = object["spec"];
  return Holds(spec, SpecOf(slice, api)) && !HasMore(spec["devices"], slice, api);
}

}  // namespace dra

#include "node/plugin/rules/resource_slice.h"

#include "controller/api/names.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/kube/api/resource.h"

namespace plugin {

namespace {

using json::Value;

Value Attributes(const ResourceSlice& slice, DeviceType type) {
  Value attributes = Value::Object(
      {{"type", Value::Object({{"string", NameOf(type)}})}, {"id", Value::Object({{"int", 0}})}});
  if (!slice.clique.empty()) attributes["clique"] = Value::Object({{"string", slice.clique}});
  return attributes;
}

constexpr std::string_view kTaintEffect = "NoSchedule";

std::string_view TaintValueOf(DeviceError::Of error) {
  return error == DeviceError::Of::kFabric ? "fabric" : "driver";
}

Value Taints(const DeviceError& error) {
  return Value::Array({Value::Object({{"key", api::kFabricErrorTaint},
                                      {"value", TaintValueOf(error.of)},
                                      {"effect", kTaintEffect},
                                      {"timeAdded", error.since}})});
}

Value DeviceOf(const ResourceSlice& slice, DeviceType type, SliceApi api) {
  Value device = Value::Object({{"name", std::string(NameOf(type)) + "-0"}});
  Value body = Value::Object({{"attributes", Attributes(slice, type)}});
  if (slice.error) body["taints"] = Taints(*slice.error);
  if (api == SliceApi::kV1Beta1) {
    device["basic"] = std::move(body);
    return device;
  }
  for (auto& [name, value] : body.MutableMembers()) device[name] = std::move(value);
  return device;
}

// Returns the part of a device, as the server has it, that has attributes and taints.
json::View BodyIn(json::View device, SliceApi api) {
  return api == SliceApi::kV1Beta1 ? device["basic"] : device;
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

// One slice is the whole pool. The order is fixed, so that equal slices are equal as text.
Value SpecOf(const ResourceSlice& slice, SliceApi api) {
  Value devices = Value::Array({DeviceOf(slice, DeviceType::kChannel, api)});
  if (slice.has_daemon) devices.Append(DeviceOf(slice, DeviceType::kDaemon, api));
  return Value::Object(
      {{"driver", api::kDriver},
       {"nodeName", slice.node},
       {"pool",
        Value::Object({{"name", slice.node}, {"generation", 1}, {"resourceSliceCount", 1}})},
       {"devices", std::move(devices)}});
}

// Returns whether a device has more attributes or taints than the slice wants.
bool HasMore(json::View spec, const ResourceSlice& slice, SliceApi api) {
  const std::size_t attributes = slice.clique.empty() ? 2 : 3;
  const std::size_t taints = slice.error ? 1 : 0;
  bool more = false;
  spec["devices"].ForEach([&](json::View device) {
    const json::View body = BodyIn(device, api);
    more = more || body["attributes"].size() != attributes || body["taints"].size() != taints;
  });
  return more;
}

}  // namespace

std::string_view NameOf(SliceApi api) { return kube::kDraVersions[static_cast<std::size_t>(api)]; }

Value Render(const ResourceSlice& slice, SliceApi api) {
  const std::string prefix = "00000-" + std::string(api::kDriver) + "-" + slice.node + "-";
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

std::optional<std::string> ErrorSince(json::View object, SliceApi version, DeviceError::Of error) {
  std::optional<std::string> since;
  object["spec"]["devices"].ForEach([&](json::View device) {
    BodyIn(device, version)["taints"].ForEach([&](json::View taint) {
      const bool is_ours = taint["key"].AsString() == api::kFabricErrorTaint &&
                           taint["value"].AsString() == TaintValueOf(error) &&
                           taint["effect"].AsString() == kTaintEffect;
      const std::string_view time = taint["timeAdded"].AsString();
      if (is_ours && !since && !time.empty()) since = std::string(time);
    });
  });
  return since;
}

bool HasContentOf(json::View object, const ResourceSlice& slice, SliceApi api) {
  const json::View spec = object["spec"];
  return Holds(spec, SpecOf(slice, api)) && !HasMore(spec, slice, api);
}

}  // namespace plugin

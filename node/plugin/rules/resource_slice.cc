#include "node/plugin/rules/resource_slice.h"

#include "controller/api/names.h"
#include "node/plugin/rules/device_type.h"

namespace plugin {

using json::Value;

dra::ResourceSlice SliceOf(const NodeDevices& devices) {
  std::optional<dra::Taint> taint;
  if (const auto& error = devices.error) {
    taint = {.key = std::string(api::kFabricErrorTaint),
             .value = error->of == DeviceError::Of::kFabric ? "fabric" : "driver",
             .since = error->since};
  }
  dra::ResourceSlice slice = {
      .driver = std::string(api::kDriver), .node = devices.node, .node_uid = devices.node_uid};
  for (const DeviceType type : {DeviceType::kChannel, DeviceType::kDaemon}) {
    if (type == DeviceType::kDaemon && !devices.has_daemon) continue;
    Value attributes = Value::Object(
        {{"type", Value::Object({{"string", NameOf(type)}})}, {"id", Value::Object({{"int", 0}})}});
    if (!devices.clique.empty()) {
      attributes["clique"] = Value::Object({{"string", devices.clique}});
    }
    slice.devices.push_back({.name = std::string(NameOf(type)) + "-0",
                             .attributes = std::move(attributes),
                             .taint = taint});
  }
  return slice;
}

}  // namespace plugin

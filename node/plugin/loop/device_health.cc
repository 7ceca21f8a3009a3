#include "node/plugin/loop/device_health.h"

#include <string>

namespace plugin {

std::vector<kubelet::DeviceHealth> HealthOf(const PluginState& state) {
  using Is = kubelet::DeviceHealth::Is;
  Is is = state.host && !state.is_host_lost ? Is::kHealthy : Is::kUnknown;
  if (state.device_error) is = Is::kUnhealthy;
  // NVML may report problems of a fabric that works. They are in the message, for the reader.
  const std::string health = state.host ? state.host->fabric_health : "";
  std::vector<kubelet::DeviceHealth> devices;
  for (const DeviceType type : {DeviceType::kChannel, DeviceType::kDaemon}) {
    if (type == DeviceType::kDaemon && state.self.host_managed) continue;
    devices.push_back({.is = is,
                       .pool = state.settings.node,
                       .name = std::string(NameOf(type)) + "-0",
                       .message = state.host_trouble.empty() ? health : state.host_trouble});
  }
  return devices;
}

}  // namespace plugin

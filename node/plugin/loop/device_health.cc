#include "node/plugin/loop/device_health.h"

#include <string>

#include "node/plugin/rules/device_type.h"

namespace plugin {

std::vector<kubelet::DeviceHealth> HealthOf(const HostView& host) {
  using Is = kubelet::DeviceHealth::Is;
  Is is = host.host && !host.is_lost ? Is::kHealthy : Is::kUnknown;
  if (host.device_error) is = Is::kUnhealthy;
  // NVML may report problems of a fabric that works. They are in the message, for the reader.
  const std::string health = host.host ? host.host->fabric_health : "";
  std::vector<kubelet::DeviceHealth> devices;
  for (const DeviceType type : {DeviceType::kChannel, DeviceType::kDaemon}) {
    if (type == DeviceType::kDaemon && host.self.host_managed) continue;
    devices.push_back({.is = is,
                       .pool = host.self.node,
                       .name = std::string(NameOf(type)) + "-0",
                       .message = host.trouble.empty() ? health : host.trouble});
  }
  return devices;
}

}  // namespace plugin

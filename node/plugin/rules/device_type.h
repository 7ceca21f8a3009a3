// The types of devices that this driver publishes.
#pragma once

#include <string_view>

namespace plugin {

enum class DeviceType { kChannel, kDaemon };
constexpr std::string_view NameOf(DeviceType type) {
  return type == DeviceType::kChannel ? "channel" : "daemon";
}

}  // namespace plugin

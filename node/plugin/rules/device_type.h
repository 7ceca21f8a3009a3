// The types of devices that this driver publishes.
#pragma once

#include <string_view>

namespace plugin {

enum class DeviceType { kChannel, kDaemon };
[[nodiscard]] constexpr std::string_view NameOf(DeviceType type) {
  return type == DeviceType::kChannel ? "channel" : "daemon";
}

}  // namespace plugin

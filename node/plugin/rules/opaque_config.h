// What a claim asks of this driver: the opaque parameters that a user or the controller wrote.
// Pure, and every byte of it is somebody else's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace plugin {

// Bytes that people are shown of a text that anybody may have written.
inline constexpr std::size_t kShownMax = 64;

struct Config {
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};    // A UID; IsUid() holds.
  bool all_channels = false;  // Of type kChannel.
  friend bool operator==(const Config&, const Config&) = default;
};

// Whether Kubernetes could have made it: "73de0384-716f-480e-8caa-00bce7016114". It goes into
// paths, names and labels.
[[nodiscard]] bool IsUid(std::string_view text);

enum class Decoding {
  kStrict,   // To prepare: what is unknown may be what was meant.
  kLenient,  // To take away what an older or newer plugin has prepared.
};

// kInvalid, with the field: it is no configuration of ours.
[[nodiscard]] base::Result<Config> DecodeConfig(json::View parameters, Decoding decoding);

}  // namespace plugin

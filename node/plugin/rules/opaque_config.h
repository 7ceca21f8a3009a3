// A claim's opaque parameters for this driver. Pure.
//
// A user or the controller wrote them: the input is untrusted.
#pragma once

#include <string>
#include <string_view>

#include "node/dra/rules/claim_status.h"
#include "node/plugin/rules/device_type.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace plugin {

struct OpaqueConfig {
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};    // A UID; IsUid() holds.
  bool all_channels = false;  // Of type kChannel.
  friend bool operator==(const OpaqueConfig&, const OpaqueConfig&) = default;
};

// Returns whether `text` has the form of a UID: "73de0384-716f-480e-8caa-00bce7016114". UIDs become
// part of paths, names and labels.
bool IsUid(std::string_view text);

// Returns kInvalid, with the field, if it is not a configuration of this driver.
base::Result<OpaqueConfig> DecodeConfig(json::View parameters, dra::Decoding decoding);

}  // namespace plugin

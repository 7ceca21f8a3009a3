// Parser of the reference driver's feature gates, which all its programs share.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace api {

// Returns the gates in `text`, such as "A=true,B=false,". The last value of a repeated gate counts.
// Fails with kInvalid, and a hint how to fix it, if a gate is unknown or is neither true nor false.
// `program` names the reader in that error: kController, "daemon" or "plugin".
inline constexpr std::string_view kController = "controller";
base::Result<std::map<std::string, bool>> ReadFeatureGates(const std::string& text,
                                                           std::string_view program);

}  // namespace api

// Feature gates of the reference, whose parts are all given the same list.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace api {

// Those that `text` sets, as "A=true,B=false,"; the last counts of one that is set twice. kInvalid,
// with what to do: one that nobody knows, or that is no bool. `program` is who reads it:
// kController, "daemon" or "plugin".
inline constexpr std::string_view kController = "controller";
[[nodiscard]] base::Result<std::map<std::string, bool>> ReadFeatureGates(const std::string& text,
                                                                         std::string_view program);

}  // namespace api

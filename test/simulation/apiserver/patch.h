// The two kinds of patch that the simulated API server takes. Pure.
#pragma once

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace simulation {

// RFC 7396: members of `patch` replace those of `target`, null removes them.
[[nodiscard]] json::Value MergePatch(json::Value target, const json::Value& patch);

// RFC 6902. kInvalid, saying which operation, if `patch` cannot be applied: a test that fails, a
// path that is not there, or something that is no JSON patch.
[[nodiscard]] base::Result<json::Value> JsonPatch(json::Value target, const json::Value& patch);

}  // namespace simulation

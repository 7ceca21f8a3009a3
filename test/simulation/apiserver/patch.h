// The two kinds of patch that the simulated API server accepts. Pure.
#pragma once

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace simulation {

// RFC 7396: members of `patch` replace those of `target`; null removes them.
json::Value MergePatch(json::Value target, const json::Value& patch);

// RFC 6902. Returns kInvalid, with the operation, if a test fails, a path does not exist, or
// `patch` is not a JSON patch.
base::Result<json::Value> JsonPatch(json::Value target, const json::Value& patch);

}  // namespace simulation

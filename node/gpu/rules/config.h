// The parameters of a GPU in a claim: GpuConfig and MigDeviceConfig. Pure.
#pragma once

#include "node/dra/rules/claim_status.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace gpu {

enum class ConfigOf { kGpu, kMig };

// Returns which devices they are for. Returns kInvalid, with a message for the user, if they are
// no such parameters, or ask for sharing, which this driver does not set up.
base::Result<ConfigOf> DecodeConfig(json::View parameters, dra::Decoding decoding);

}  // namespace gpu

// The part of a ResourceClaim that a plugin needs. Pure.
#pragma once

#include <string>
#include <string_view>

#include "node/plugin/rules/claim_status.h"
#include "pkg/base/result.h"

namespace plugin {

struct ClaimToPrepare {
  std::string uid = {};  // IsFileSafe() holds.
  std::string name = {};
  std::string ns = {};
  bool is_allocated = false;
  ClaimStatus status = {};
  base::Result<Wanted> wanted = {};  // Decoded strictly.
};

// Decodes `text`, the object as the API server returns it. Reads past what is for other drivers.
// Returns kInvalid if it is not a claim.
base::Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text);

}  // namespace plugin

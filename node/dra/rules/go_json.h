// JSON as Go's encoding/json writes it, for the reference's checksums.
#pragma once

#include <string>

#include "pkg/json/value.h"

namespace dra {

// Returns compact JSON. Members keep their order.
std::string GoJson(const json::Value& value);

// Returns `status` of a ResourceClaim (v1) as Go's types hold it, with the members of OwnPart().
json::Value CanonicalClaimStatus(const json::Value& status);

}  // namespace dra

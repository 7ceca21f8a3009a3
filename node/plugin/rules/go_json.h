// JSON as Go's encoding/json writes it, which checksums of the reference are taken over.
#pragma once

#include <string>

#include "pkg/json/value.h"

namespace plugin {

// Compact, members in the order that they have.
[[nodiscard]] std::string GoJson(const json::Value& value);

// `status` of a ResourceClaim (v1) as Go's types hold it: members in the order of their structs,
// what is empty and may be left out left out, and nothing that these types do not know. The
// reference takes its checksum over what its types hold, and refuses its own file otherwise.
[[nodiscard]] json::Value CanonicalClaimStatus(const json::Value& status);

}  // namespace plugin

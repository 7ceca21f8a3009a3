// Numbers in the forms of the Kubernetes API. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpu {

// Returns a quantity as the API server writes it: "81559Mi" of 85520809984, "132" of 132.
std::string QuantityOf(std::uint64_t value);

// Returns a version as a semantic version: "580.95.5" of "580.95.05", "13.0.0" of "13.0". Text
// after the third number is left out. Empty if the text does not begin with a number.
std::string SemanticVersionOf(std::string_view text);

}  // namespace gpu

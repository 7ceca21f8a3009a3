#pragma once

#include <string>
#include <string_view>

#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace json {

// What the API server's decoder accepts and ours refuses, changed so that ours accepts it: half of
// a surrogate pair and bytes that are not UTF-8 become U+FFFD, as in Go; what lies deeper than 512
// levels, and a number beyond a double, becomes null.
//
// A user can store such things inside an object of any kind that has a field for free-form JSON,
// and the server hands them out as they are. They must not keep us from reading the object, let
// alone the others of its list. For objects that are only read: never write the result back.
//
// Anything else stays as it is; parse the result to learn whether it is JSON now.
[[nodiscard]] std::string Repair(std::string_view text);

// Reads `text`, repaired if it must be.
[[nodiscard]] base::Result<View> ParseRepaired(Parser& parser, std::string_view text);
[[nodiscard]] base::Result<Document> ParseRepaired(std::string_view text);

}  // namespace json

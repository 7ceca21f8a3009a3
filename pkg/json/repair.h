// Repairs JSON that the API server accepts and our parser rejects.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/result.h"
#include "pkg/json/reader.h"

namespace json {

// Returns `text` with changes that make our parser accept what the API server's decoder accepts. As
// in Go, half of a surrogate pair and invalid UTF-8 become U+FFFD. A value deeper than 512 levels,
// and a number beyond a double, become null.
//
// Users can store such bytes in any object with a field for free-form JSON, and the server returns
// them unchanged. They must not make the object unreadable, or the others of its list. Use the
// result only to read: never write it back.
//
// Other text is unchanged. The result may still be invalid JSON: parse it to know.
std::string Repair(std::string_view text);

// Parses `text`, and repairs it first if needed.
base::Result<View> ParseRepaired(Parser& parser, std::string_view text);
base::Result<Document> ParseRepaired(std::string_view text);

}  // namespace json

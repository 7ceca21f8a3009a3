// Walks JSON text without building a tree.
//
// For large texts of which few members are needed: what is not needed costs no memory. Only
// brackets, strings and separators are checked, as by a Scanner: parse what is used.
//
// Thread-safe. Reads each byte once for each level that the caller descends.
// Bound: 10 000 levels.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace json {

// Calls `use` for each member of an object, or each item of an array, in the order of the text.
// `name` is as written: without quotes, with escapes; it is empty for an item. `value` is the text
// of one value. Another value has no slices. Returns kInvalid if `text` is malformed; slices before
// the mistake are used.
base::Result<void> ForEachSlice(
    std::string_view text,
    const std::function<void(std::string_view name, std::string_view value)>& use);

// Returns the text of that member of an object. If there are several, the last one, as in Go. Empty
// if there is none.
std::string_view SliceOf(std::string_view object, std::string_view name);
// Returns that member if it is a string, and empty otherwise.
std::string TextOf(std::string_view object, std::string_view name);

// Returns the number of levels of brackets in `text`, up to its end or the first mistake.
std::size_t DepthOf(std::string_view text);

}  // namespace json

#pragma once

#include <cstddef>
#include <string>

#include "pkg/base/result.h"

namespace base {

// Returns the content of the file at `path`. Opens it each time, to follow a replaced symbolic
// link. kNotFound: it does not exist. kTooLarge: it has more than `bytes_max`. kInvalid: any other
// cause, such as a missing permission. Messages name the path and the cause.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace base

#pragma once

#include <cstddef>
#include <string>

#include "pkg/base/result.h"

namespace base {

// The content of the file at `path`, opened each time, so that a replaced symbolic link is
// followed. kNotFound: there is none. kTooLarge: more than `bytes_max`. kInvalid: anything else,
// such as a missing permission. Messages name the path and the cause.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace base

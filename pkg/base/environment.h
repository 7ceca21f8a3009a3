// Reads the process's environment. Only a main.cc may call it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace base {

// Returns the variable. Empty if it is not set.
std::optional<std::string> GetEnv(const std::string& name);
// Returns all variables, as "name=value".
std::vector<std::string> Environment();

}  // namespace base

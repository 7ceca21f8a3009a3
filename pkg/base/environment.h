// The process's environment. Only a main.cc asks for it; everything else is given what it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace base {

// Nothing: it is not set.
[[nodiscard]] std::optional<std::string> GetEnv(const std::string& name);
// All of them, as "name=value".
[[nodiscard]] std::vector<std::string> Environment();

}  // namespace base

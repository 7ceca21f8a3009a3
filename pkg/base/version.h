// Which cdom this is.
#pragma once

#include <string_view>

namespace base {

[[nodiscard]] std::string_view Version();  // "0.1.0": CMakeLists.txt has it, and nobody else.

// The commit, "<commit>-dirty" if the sources differ from it, "unknown" outside of git.
[[nodiscard]] std::string_view Revision();

}  // namespace base

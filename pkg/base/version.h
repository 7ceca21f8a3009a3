// Which cdom this is.
#pragma once

#include <string>
#include <string_view>

namespace base {

[[nodiscard]] std::string_view Version();  // "0.1.0": CMakeLists.txt has it, and nobody else.

// The commit, "<commit>-dirty" if the sources differ from it, "unknown" outside of git.
[[nodiscard]] std::string_view Revision();

// How a program of ours names itself to servers: "cdom/0.1.0 (linux) compute-domain-controller".
[[nodiscard]] std::string UserAgent(std::string_view program);

}  // namespace base

// The version of cdom.
#pragma once

#include <string>
#include <string_view>

namespace base {

std::string_view Version();  // Such as "1.2.3". Only CMakeLists.txt defines it.

// Returns the commit, "<commit>-dirty" if the sources differ from it, or "unknown" outside of git.
std::string_view Revision();

// Returns the User-Agent of `program`: "cdom/1.2.3 (linux) compute-domain-controller".
std::string UserAgent(std::string_view program);

}  // namespace base

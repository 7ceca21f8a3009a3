// Files that a daemon writes, and programs that it looks for.
#pragma once

#include <string>

#include "pkg/base/result.h"

namespace imex_daemon {

// Messages of all name the path and the cause.

// Replaces the file in one go, unless it has this content already. Its folder is ours.
[[nodiscard]] base::Result<void> ReplaceFile(const std::string& path, const std::string& content);

// Writes into the file that is there: one that is mounted into a container cannot be replaced. What
// is shorter now is cut off last, so that a reader never finds it empty.
[[nodiscard]] base::Result<void> WriteInPlace(const std::string& path, const std::string& content);
// Whether that is allowed.
[[nodiscard]] base::Result<void> CheckWritable(const std::string& path);

// The path of a program: as it is if it has a '/', else the first of that name in the folders of
// `search`, which is a PATH. kNotFound: none that can be run.
[[nodiscard]] base::Result<std::string> FindProgram(const std::string& name,
                                                    const std::string& search);

}  // namespace imex_daemon

// Files that a daemon writes, and programs that it looks for.
//
// Every error message names the path and the cause.
#pragma once

#include <string>

#include "pkg/base/result.h"

namespace imex_daemon {

// Replaces the file atomically, unless it has this content already. Only the daemon writes its
// folder.
base::Result<void> ReplaceFile(const std::string& path, const std::string& content);

// Overwrites the existing file: a file that is mounted into a container cannot be replaced. Shorter
// content is written first and the rest cut off afterwards, so that a reader never finds the file
// empty.
base::Result<void> WriteInPlace(const std::string& path, const std::string& content);
// Succeeds if WriteInPlace() is possible.
base::Result<void> CheckWritable(const std::string& path);

// Returns the path of a program: `name` itself if it has a '/', else the first executable of that
// name in the folders of `search`, which is a PATH. Returns kNotFound if there is none.
base::Result<std::string> FindProgram(const std::string& name, const std::string& search);

}  // namespace imex_daemon

// A driver's files in the folder of CDI specs.
//
// A driver's claims are specs of the kind "<vendor>/claim". Container runtimes read that folder.
// Every error message names the path and the cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/cdi/spec.h"
#include "pkg/base/result.h"

namespace cdi {

// Returns the name of a claim's file. REQUIRES: IsFileSafe(uid).
std::string ClaimFile(std::string_view vendor, std::string_view uid);
// Returns whether `uid` may be part of a path: letters, digits and dashes, at most 64.
bool IsFileSafe(std::string_view uid);

// Permissions of a file.
enum class FileAccess { kOwner = 0600, kAllRead = 0644, kAllRun = 0755 };
// Replaces the file atomically and syncs it to the disk: a crash leaves the old or the new one.
base::Result<void> ReplaceFile(const std::string& folder, const std::string& file,
                               std::string_view content, FileAccess access = FileAccess::kOwner);
// Succeeds if there is no such file.
base::Result<void> Remove(const std::string& folder, const std::string& file);

// Returns the names of a folder's entries, sorted. Empty if the folder does not exist. Returns
// kTooLarge if there are more than 100,000.
base::Result<std::vector<std::string>> NamesIn(const std::string& folder);

// Returns the UIDs of the vendor's claims that have a file, sorted. Empty if the folder does not
// exist.
base::Result<std::vector<std::string>> ClaimsIn(const std::string& folder, std::string_view vendor);
// Removes the temporary files of interrupted writes.
base::Result<void> RemoveHalves(const std::string& folder);

// Returns a claim's spec. Empty if it has no file. Returns kInvalid if the file is not a spec.
base::Result<std::optional<Spec>> ReadClaim(const std::string& folder, std::string_view vendor,
                                            std::string_view uid);

}  // namespace cdi

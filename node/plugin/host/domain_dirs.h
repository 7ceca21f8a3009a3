// The plugin's folder, and the domains' folders in it.
//
// Every error message names the path and the cause. A domain's folder is mounted into its daemons,
// which may write anything there, so links in it are not followed.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"

namespace plugin {

// Creates the folder and its parents.
base::Result<void> MakeFolder(const std::string& folder);

// Returns the UIDs of the domains that have a folder. REQUIRES, below: IsUid(domain).
base::Result<std::vector<std::string>> DomainFolders(const std::string& folder);
// Returns whether the domain's folder exists and has the template of IMEX's configuration.
bool HasDomainFolder(const std::string& folder, const std::string& domain);
base::Result<void> MakeDomainFolder(const std::string& folder, const std::string& domain,
                                    const std::string& config_template);
base::Result<void> RemoveDomainFolder(const std::string& folder, const std::string& domain);

// Copies the program into the plugin's folder, where the host can run it, and returns the path of
// the copy. Returns kNotFound if there is no such program.
base::Result<std::string> CopyProgram(const std::string& folder, const std::string& program);

}  // namespace plugin

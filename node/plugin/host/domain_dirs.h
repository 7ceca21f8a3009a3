// The plugin's folder and what lies in it, beside the checkpoint.
//
// Messages of all name the path and the cause. A domain's folder is mounted into its daemons, which
// may write there what they like: no link in it is ever followed.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"

namespace plugin {

// And those above it.
[[nodiscard]] base::Result<void> MakeFolder(const std::string& folder);

// Of domains that have one. REQUIRES, here and below: IsUid(domain).
[[nodiscard]] base::Result<std::vector<std::string>> DomainFolders(const std::string& folder);
// With the template of IMEX's configuration in it.
[[nodiscard]] bool HasDomainFolder(const std::string& folder, const std::string& domain);
[[nodiscard]] base::Result<void> MakeDomainFolder(const std::string& folder,
                                                  const std::string& domain,
                                                  const std::string& config_template);
[[nodiscard]] base::Result<void> RemoveDomainFolder(const std::string& folder,
                                                    const std::string& domain);

// Puts a copy of the program into the plugin's folder, where the host sees it; returns its path
// there. kNotFound: there is no such program.
[[nodiscard]] base::Result<std::string> CopyProgram(const std::string& folder,
                                                    const std::string& program);

}  // namespace plugin

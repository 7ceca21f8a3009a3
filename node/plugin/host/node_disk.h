// What the plugin reads and writes on its node besides claims and the driver.
//
// Each write is atomic, and on the disk when it returns: a crash leaves the old file or the new
// one. Every error message names the path and the cause. For one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/base/result.h"

namespace plugin {

class NodeDisk {
 public:
  virtual ~NodeDisk() = default;

  // The text of the driver's CDI spec. Empty if it cannot be read.
  virtual std::optional<std::string> ReadDriverSpec() const = 0;
  virtual base::Result<void> WriteDriverSpec(const std::string& text) = 0;

  // Folders of domains, which hold the template of IMEX's configuration. They are mounted into
  // daemons, which may write anything there. REQUIRES: IsUid(domain).
  virtual base::Result<std::vector<std::string>> Folders() const = 0;  // The UIDs, sorted.
  virtual bool HasFolder(const std::string& domain) const = 0;         // With its template.
  virtual base::Result<void> MakeFolder(const std::string& domain) = 0;
  virtual base::Result<void> RemoveFolder(const std::string& domain) = 0;
};

}  // namespace plugin

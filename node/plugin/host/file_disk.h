// The plugin's folder, and the folder of CDI specs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/dra/host/file_claim_disk.h"
#include "node/plugin/host/node_disk.h"
#include "node/plugin/rules/cdi_names.h"
#include "pkg/base/result.h"

namespace plugin {

struct DiskPaths {
  std::string folder = {};  // The plugin's.
  std::string cdi_folder = {};
  std::string config_template = {};  // Of IMEX.
};

// Does not follow links in a domain's folder.
class FileDisk final : public dra::FileClaimDisk, public NodeDisk {
 public:
  // REQUIRES: the folders exist.
  explicit FileDisk(DiskPaths paths)
      : FileClaimDisk({.folder = paths.folder,
                       .cdi_folder = paths.cdi_folder,
                       .cdi_vendor = std::string(kCdiVendor)}),
        paths_(std::move(paths)) {}

  std::optional<std::string> ReadDriverSpec() const override;
  base::Result<void> WriteDriverSpec(const std::string& text) override;
  base::Result<std::vector<std::string>> Folders() const override;
  bool HasFolder(const std::string& domain) const override;
  base::Result<void> MakeFolder(const std::string& domain) override;
  base::Result<void> RemoveFolder(const std::string& domain) override;

 private:
  std::string PathOf(const std::string& domain) const;

  const DiskPaths paths_;
};

}  // namespace plugin

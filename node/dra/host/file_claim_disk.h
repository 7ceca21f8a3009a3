// A driver's folder, and the folder of CDI specs.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/host/claim_disk.h"
#include "pkg/base/open_file.h"
#include "pkg/base/result.h"

namespace dra {

// A larger checkpoint is unreadable. The reference driver's has all of each claim's status.
inline constexpr std::size_t kCheckpointBytesMax = std::size_t{32} << 20U;

struct ClaimPaths {
  std::string folder = {};  // The driver's.
  std::string cdi_folder = {};
  std::string cdi_vendor = {};  // Of the kind of its claims' specs.
};

class FileClaimDisk : public ClaimDisk {
 public:
  // REQUIRES: the folders exist.
  explicit FileClaimDisk(ClaimPaths paths) : paths_(std::move(paths)) {}

  base::Result<void> Lock() override;
  void Unlock() override { lock_.reset(); }
  base::Result<std::optional<CheckpointText>> ReadCheckpoint() override;
  base::Result<void> WriteCheckpoint(const std::string& text) override;
  void KeepDamaged(const std::string& text) override;
  base::Result<std::vector<std::string>> Specs() const override;
  bool HasSpec(const std::string& uid) const override;
  base::Result<std::optional<cdi::Spec>> ReadSpec(const std::string& uid) const override;
  base::Result<void> WriteSpec(const std::string& uid, const cdi::Spec& spec) override;
  base::Result<void> RemoveSpec(const std::string& uid) override;

 private:
  const ClaimPaths paths_;
  // stat() of the checkpoint when it was last read or written. Empty before that.
  std::optional<struct ::stat> read_ = {};
  std::optional<base::OpenFile> lock_ = {};
};

// Creates the folder and its parents.
base::Result<void> MakeFolders(const std::string& folder);

// Copies the program into the driver's folder, where the host can run it, and returns the path of
// the copy. Returns kNotFound if there is no such program.
base::Result<std::string> CopyProgram(const std::string& folder, const std::string& program);

}  // namespace dra

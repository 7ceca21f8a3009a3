// What a driver keeps of its claims on the node: the checkpoint, and CDI specs.
//
// Each write is atomic, and on the disk when it returns: a crash leaves the old file or the new
// one. Every error message names the path and the cause. For one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/cdi/spec.h"
#include "pkg/base/result.h"

namespace dra {

// File with the last checkpoint in which an entry was damaged, as it was.
inline constexpr std::string_view kCopyOfDamaged = "checkpoint.damaged.json";

class ClaimDisk {
 public:
  virtual ~ClaimDisk() = default;

  // The lock that all plugins of this driver on the node share. Does not block. Returns
  // kUnavailable if another one holds it: retry soon. Returns kInvalid if it cannot be opened.
  virtual base::Result<void> Lock() = 0;
  virtual void Unlock() = 0;

  struct CheckpointText {
    std::optional<std::string> text = {};  // Empty if there is no file, or if it is too large.
    std::string too_large = {};            // Empty if it is not.
  };
  // Returns nothing if the checkpoint is the same as when it was last read or written.
  virtual base::Result<std::optional<CheckpointText>> ReadCheckpoint() = 0;
  virtual base::Result<void> WriteCheckpoint(const std::string& text) = 0;
  // Keeps a checkpoint with damaged entries, for people. It may fail.
  virtual void KeepDamaged(const std::string& text) = 0;

  // CDI specs of claims. REQUIRES: cdi::IsFileSafe(uid).
  virtual base::Result<std::vector<std::string>> Specs() const = 0;  // The UIDs, sorted.
  virtual bool HasSpec(const std::string& uid) const = 0;            // Readable or not.
  // Empty if there is none. Returns kInvalid if it is no spec.
  virtual base::Result<std::optional<cdi::Spec>> ReadSpec(const std::string& uid) const = 0;
  virtual base::Result<void> WriteSpec(const std::string& uid, const cdi::Spec& spec) = 0;
  // Succeeds if there is none.
  virtual base::Result<void> RemoveSpec(const std::string& uid) = 0;
};

}  // namespace dra

// What the plugin reads and writes on its node, besides the driver.
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

namespace plugin {

// File with the last checkpoint in which an entry was damaged, as it was.
inline constexpr std::string_view kCopyOfDamaged = "checkpoint.damaged.json";

class NodeDisk {
 public:
  virtual ~NodeDisk() = default;

  // The lock that all plugins of the node share. Does not block. Returns kUnavailable if another
  // one holds it: retry soon. Returns kInvalid if it cannot be opened.
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

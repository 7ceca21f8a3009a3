// The checkpoint as it lies on the disk, and the lock that all plugins of a node share.
#pragma once

#include <sys/stat.h>

#include <string>

#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/result.h"

namespace plugin {

// Used by one thread. While a new instance takes over from an old one both are at work, so each
// holds the lock for as long as it decides and writes, and reads again what the other has written.
class CheckpointFile {
 public:
  // `folder` is there.
  CheckpointFile(std::string folder, std::string boot_id);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // Does not wait. kUnavailable: another process has it, ask again soon. kInvalid: files cannot be
  // opened or read, with the reason.
  [[nodiscard]] base::Result<void> Lock();
  void Unlock();

  // As of the last Lock(). REQUIRES: it was locked once.
  [[nodiscard]] const Checkpoint& checkpoint() const { return resumed_.checkpoint; }
  // What was found when something was read last; kUnreadable until something is saved.
  [[nodiscard]] const Resumed& resumed() const { return resumed_; }

  // Replaces what is noted, on the disk first. REQUIRES: locked.
  [[nodiscard]] base::Result<void> Save(Checkpoint next);

 private:
  [[nodiscard]] base::Result<void> ReadIfChanged();

  const std::string folder_;
  const std::string boot_id_;
  Resumed resumed_;
  bool has_read_ = false;
  struct ::stat read_ = {};  // Of the file that was read or written last.
  int lock_ = -1;
};

}  // namespace plugin

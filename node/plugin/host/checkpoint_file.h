// The checkpoint on disk, and its lock.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/open_file.h"
#include "pkg/base/result.h"

namespace plugin {

// The last file in which an entry was damaged, as it was.
inline constexpr std::string_view kCopyOfDamaged = "checkpoint.damaged.json";

// A larger file is unreadable. One of cdom has twice kStatusesMax at most: claims that are prepared
// are in it twice. The reference driver's has all of each claim's status.
inline constexpr std::size_t kCheckpointBytesMax = std::size_t{32} << 20U;

// Used by one thread. During a rolling update two plugins run on the node. So each holds the lock
// while it decides and writes, and reads again what the other one wrote.
class CheckpointFile {
 public:
  // REQUIRES: `folder` exists.
  CheckpointFile(std::string folder, std::string boot_id)
      : folder_(std::move(folder)), boot_id_(std::move(boot_id)) {}

  // Does not block. Returns kUnavailable if another process holds the lock: retry soon. Returns
  // kInvalid, with the reason, if a file cannot be opened or read.
  base::Result<void> Lock();
  void Unlock() { lock_.reset(); }

  // The content as of the last Lock(). REQUIRES: Lock() succeeded once.
  const Checkpoint& checkpoint() const { return resumed_.checkpoint; }
  // Result of the last read. An unreadable file stays kUnreadable until Save().
  const Resumed& resumed() const { return resumed_; }

  // Replaces the checkpoint, on disk first. The file stays if a plugin could not read the next one.
  // REQUIRES: locked.
  base::Result<void> Save(Checkpoint next);

 private:
  base::Result<void> ReadIfChanged();

  const std::string folder_;
  const std::string boot_id_;
  Resumed resumed_;
  bool has_read_ = false;
  struct ::stat read_ = {};  // stat() of the file when it was last read or written.
  std::optional<base::OpenFile> lock_ = {};
};

}  // namespace plugin

// The checkpoint on disk, and its lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "node/plugin/host/node_disk.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/result.h"

namespace plugin {

// Used by one thread. During a rolling update two plugins run on the node. So each holds the lock
// while it decides and writes, and reads again what the other one wrote.
class CheckpointFile {
 public:
  // `disk` must outlive it. `resume` is a rule.
  CheckpointFile(NodeDisk& disk, std::string boot_id,
                 std::function<decltype(Resume)> resume = &Resume)
      : disk_(disk), boot_id_(std::move(boot_id)), resume_(std::move(resume)) {}

  // As NodeDisk::Lock(). Also returns an error, with the reason, if the file cannot be read.
  base::Result<void> Lock();
  void Unlock() { disk_.Unlock(); }

  // The content as of the last Lock(). REQUIRES: Lock() succeeded once.
  const Checkpoint& checkpoint() const { return resumed_.checkpoint; }
  // Result of the last read. An unreadable file stays kUnreadable until Save().
  const Resumed& resumed() const { return resumed_; }

  // Replaces the checkpoint, on disk first. The file stays if a plugin could not read the next one.
  // REQUIRES: locked.
  base::Result<void> Save(Checkpoint next);
  // Returns how often it was saved.
  std::uint64_t saves() const { return saves_; }
  // Replaces the reason why the file is unreadable by the one why it is not rebuilt yet.
  void SetTrouble(const std::string& why) { resumed_.why = why; }

 private:
  base::Result<void> ReadIfChanged();

  NodeDisk& disk_;
  const std::string boot_id_;
  const std::function<decltype(Resume)> resume_;
  Resumed resumed_;
  std::uint64_t saves_ = 0;
};

}  // namespace plugin

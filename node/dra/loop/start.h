// How a driver takes up the checkpoint when it starts.
#pragma once

#include <string>
#include <utility>

#include "node/dra/host/checkpoint_file.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"

namespace dra {

// Reads the checkpoint, and logs what it has. Nothing from another boot remains, and an older
// plugin that takes over must know that: then it is saved. Returns false if another instance holds
// its lock: retry soon.
template <typename Claim>
base::Result<bool> TakeUp(CheckpointFile<Claim>& file, base::Logger& logger) {
  using From = typename Resumed<Claim>::From;
  if (auto locked = file.Lock(); !locked) {
    if (locked.error().code == base::ErrorCode::kUnavailable) return false;
    return tl::unexpected(locked.error());
  }
  // A copy, because Save() replaces the original.
  const Resumed<Claim> resumed = file.resumed();
  base::Result<void> saved = {};
  if (!file.is_unreadable() && resumed.from != From::kThisBoot)
    saved = file.Save(resumed.checkpoint);
  file.Unlock();
  TRY(std::move(saved));
  logger.Info("Read the checkpoint",
              {{"claims", std::to_string(resumed.checkpoint.claims.size())},
               {"otherBoot", resumed.from == From::kOtherBoot ? "true" : "false"},
               {"unreadable", resumed.why}});
  if (!resumed.damaged.empty()) {
    logger.Warning("Checkpoint entries are damaged, going on with what is readable",
                   {{"entries", std::to_string(resumed.damaged.size())},
                    {"first", resumed.damaged.front()},
                    {"copy", std::string(kCopyOfDamaged)}});
  }
  return true;
}

}  // namespace dra

#include "node/plugin/host/checkpoint_file.h"

namespace plugin {

base::Result<void> CheckpointFile::Lock() {
  TRY(disk_.Lock());
  auto read = ReadIfChanged();
  if (!read) Unlock();
  return read;
}

base::Result<void> CheckpointFile::ReadIfChanged() {
  const auto read = TRY(disk_.ReadCheckpoint());
  if (!read) return {};
  resumed_ = resume_(read->text, boot_id_);
  if (!read->too_large.empty()) {
    resumed_.from = Resumed::From::kUnreadable;
    resumed_.why = read->too_large;
  }
  // A full disk must not end the plugin, so it goes on without the copy.
  if (!resumed_.damaged.empty()) disk_.KeepDamaged(*read->text);
  return {};
}

base::Result<void> CheckpointFile::Save(Checkpoint next) {
  const std::string text = dra::Encode(next);
  TRY(dra::CheckReadable(text, next));
  TRY(disk_.WriteCheckpoint(text));
  resumed_ = {.from = Resumed::From::kThisBoot, .checkpoint = std::move(next)};
  ++saves_;
  return {};
}

}  // namespace plugin

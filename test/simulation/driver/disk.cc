#include "test/simulation/driver/disk.h"

#include <array>

namespace simulation {

using base::Result;

std::string DiskEdit::ToString() const {
  constexpr std::array kNames = {"write checkpoint", "write spec",    "remove spec",
                                 "make folder",      "remove folder", "write driver spec"};
  return kNames.at(static_cast<std::size_t>(what)) + (" " + name);
}

void DiskContent::Apply(const DiskEdit& edit) {
  switch (edit.what) {
    case DiskEdit::What::kCheckpoint:
      checkpoint = edit.text;
      ++checkpoint_writes;
      break;
    case DiskEdit::What::kWriteSpec:
      specs[edit.name] = edit.text;
      break;
    case DiskEdit::What::kRemoveSpec:
      specs.erase(edit.name);
      break;
    case DiskEdit::What::kMakeFolder:
      folders.insert(edit.name);
      break;
    case DiskEdit::What::kRemoveFolder:
      folders.erase(edit.name);
      break;
    case DiskEdit::What::kWriteDriverSpec:
      driver_spec = edit.text;
      break;
  }
}

Result<void> ProcessDisk::Lock() {
  if (content_.lock_holder != nullptr && content_.lock_holder != this) {
    return base::Unavailable("another plugin holds the lock");
  }
  content_.lock_holder = this;
  return {};
}

void ProcessDisk::Unlock() {
  if (content_.lock_holder == this) content_.lock_holder = nullptr;
}

Result<std::optional<dra::ClaimDisk::CheckpointText>> ProcessDisk::ReadCheckpoint() {
  if (read_ == content_.checkpoint_writes) return std::optional<CheckpointText>();
  read_ = content_.checkpoint_writes;
  return CheckpointText{.text = content_.checkpoint};
}

Result<void> ProcessDisk::WriteCheckpoint(const std::string& text) {
  TRY(edit_({.what = DiskEdit::What::kCheckpoint, .text = text}));
  read_ = content_.checkpoint_writes;
  return {};
}

Result<std::vector<std::string>> ProcessDisk::Specs() const {
  std::vector<std::string> uids;
  uids.reserve(content_.specs.size());
  for (const auto& [uid, text] : content_.specs) uids.push_back(uid);
  return uids;
}

Result<std::optional<cdi::Spec>> ProcessDisk::ReadSpec(const std::string& uid) const {
  const auto spec = content_.specs.find(uid);
  if (spec == content_.specs.end()) return std::optional<cdi::Spec>();
  return TRY(cdi::Parse(spec->second, uid));
}

Result<void> ProcessDisk::WriteSpec(const std::string& uid, const cdi::Spec& spec) {
  return edit_({.what = DiskEdit::What::kWriteSpec, .name = uid, .text = cdi::Render(spec)});
}

Result<void> ProcessDisk::RemoveSpec(const std::string& uid) {
  if (!HasSpec(uid)) return {};
  return edit_({.what = DiskEdit::What::kRemoveSpec, .name = uid});
}

}  // namespace simulation

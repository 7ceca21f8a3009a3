#include "node/dra/host/file_claim_disk.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "node/cdi/files.h"
#include "pkg/base/file.h"

namespace dra {

namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kCheckpoint = "checkpoint.json";
constexpr const char* kLockFile = "pu.lock";
constexpr mode_t kMode = 0600;
constexpr std::size_t kProgramMax = 64U << 20;

bool IsSameFile(const struct ::stat& one, const struct ::stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

// Returns zeros if the file does not exist.
struct ::stat StatOf(const std::string& path) {
  struct ::stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return found;
}

}  // namespace

Result<void> FileClaimDisk::Lock() {
  const std::string path = paths_.folder + "/" + kLockFile;
  lock_.emplace(path, O_RDWR | O_CREAT | O_NOFOLLOW, kMode);
  if (!lock_->is_open()) return base::FailedTo("open", path, errno);
  if (::flock(lock_->fd(), LOCK_EX | LOCK_NB) == 0) return {};
  Unlock();
  return base::Unavailable(path + " is held by another plugin of this node");
}

Result<std::optional<ClaimDisk::CheckpointText>> FileClaimDisk::ReadCheckpoint() {
  const std::string path = paths_.folder + "/" + kCheckpoint;
  const struct ::stat now = StatOf(path);
  if (read_ && IsSameFile(now, *read_)) return std::nullopt;
  CheckpointText read;
  auto text = base::ReadFile(path, kCheckpointBytesMax);
  if (text) {
    read.text = *std::move(text);
  } else if (text.error().code == base::ErrorCode::kTooLarge) {
    read.too_large = text.error().message;
  } else if (text.error().code != base::ErrorCode::kNotFound) {
    return tl::unexpected(text.error());
  }
  read_ = now;
  return read;
}

Result<void> FileClaimDisk::WriteCheckpoint(const std::string& text) {
  TRY(cdi::ReplaceFile(paths_.folder, kCheckpoint, text));
  read_ = StatOf(paths_.folder + "/" + kCheckpoint);
  return {};
}

void FileClaimDisk::KeepDamaged(const std::string& text) {
  static_cast<void>(cdi::ReplaceFile(paths_.folder, std::string(kCopyOfDamaged), text));
}

Result<std::vector<std::string>> FileClaimDisk::Specs() const {
  return cdi::ClaimsIn(paths_.cdi_folder, paths_.cdi_vendor);
}

bool FileClaimDisk::HasSpec(const std::string& uid) const {
  std::error_code ignored;
  return fs::exists(paths_.cdi_folder + "/" + cdi::ClaimFile(paths_.cdi_vendor, uid), ignored);
}

Result<std::optional<cdi::Spec>> FileClaimDisk::ReadSpec(const std::string& uid) const {
  return cdi::ReadClaim(paths_.cdi_folder, paths_.cdi_vendor, uid);
}

Result<void> FileClaimDisk::WriteSpec(const std::string& uid, const cdi::Spec& spec) {
  return cdi::ReplaceFile(paths_.cdi_folder, cdi::ClaimFile(paths_.cdi_vendor, uid),
                          cdi::Render(spec));
}

Result<void> FileClaimDisk::RemoveSpec(const std::string& uid) {
  return cdi::Remove(paths_.cdi_folder, cdi::ClaimFile(paths_.cdi_vendor, uid));
}

Result<void> MakeFolders(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::FailedTo("make folder", folder, error.value());
  return {};
}

Result<std::string> CopyProgram(const std::string& folder, const std::string& program) {
  const std::string content = TRY(base::ReadFile(program, kProgramMax));
  const std::string name = fs::path(program).filename().string();
  TRY(cdi::ReplaceFile(folder, name, content, cdi::FileAccess::kAllRun));
  return folder + "/" + name;
}

}  // namespace dra

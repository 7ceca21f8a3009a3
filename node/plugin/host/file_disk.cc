#include "node/plugin/host/file_disk.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "node/cdi/files.h"
#include "node/imex/names.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/check.h"
#include "pkg/base/file.h"

namespace plugin {

namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr const char* kCheckpoint = "checkpoint.json";
constexpr const char* kLockFile = "pu.lock";
constexpr mode_t kMode = 0600;
constexpr std::size_t kTemplateMax = 64U << 10;
constexpr std::size_t kProgramMax = 64U << 20;
constexpr std::size_t kDriverSpecMax = std::size_t{4} << 20U;
constexpr int kFoldersMax = 10'000;

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

Result<void> FileDisk::Lock() {
  const std::string path = paths_.folder + "/" + kLockFile;
  lock_.emplace(path, O_RDWR | O_CREAT | O_NOFOLLOW, kMode);
  if (!lock_->is_open()) return base::FailedTo("open", path, errno);
  if (::flock(lock_->fd(), LOCK_EX | LOCK_NB) == 0) return {};
  Unlock();
  return base::Unavailable(path + " is held by another plugin of this node");
}

Result<std::optional<NodeDisk::CheckpointText>> FileDisk::ReadCheckpoint() {
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

Result<void> FileDisk::WriteCheckpoint(const std::string& text) {
  TRY(cdi::ReplaceFile(paths_.folder, kCheckpoint, text));
  read_ = StatOf(paths_.folder + "/" + kCheckpoint);
  return {};
}

void FileDisk::KeepDamaged(const std::string& text) {
  static_cast<void>(cdi::ReplaceFile(paths_.folder, std::string(kCopyOfDamaged), text));
}

Result<std::vector<std::string>> FileDisk::Specs() const {
  return cdi::ClaimsIn(paths_.cdi_folder);
}

bool FileDisk::HasSpec(const std::string& uid) const {
  std::error_code ignored;
  return fs::exists(paths_.cdi_folder + "/" + cdi::ClaimFile(uid), ignored);
}

Result<std::optional<cdi::Spec>> FileDisk::ReadSpec(const std::string& uid) const {
  return cdi::ReadClaim(paths_.cdi_folder, uid);
}

Result<void> FileDisk::WriteSpec(const std::string& uid, const cdi::Spec& spec) {
  return cdi::ReplaceFile(paths_.cdi_folder, cdi::ClaimFile(uid), cdi::Render(spec));
}

Result<void> FileDisk::RemoveSpec(const std::string& uid) {
  return cdi::Remove(paths_.cdi_folder, cdi::ClaimFile(uid));
}

std::optional<std::string> FileDisk::ReadDriverSpec() const {
  auto text = base::ReadFile(paths_.cdi_folder + "/" + std::string(cdi::kBaseFile), kDriverSpecMax);
  if (!text) return std::nullopt;
  return *std::move(text);
}

Result<void> FileDisk::WriteDriverSpec(const std::string& text) {
  return cdi::ReplaceFile(paths_.cdi_folder, std::string(cdi::kBaseFile), text);
}

std::string FileDisk::PathOf(const std::string& domain) const {
  CHECK(IsUid(domain));
  return paths_.folder + "/domains/" + domain;
}

Result<std::vector<std::string>> FileDisk::Folders() const {
  std::vector<std::string> domains;
  for (std::string& name : TRY(cdi::NamesIn(paths_.folder + "/domains"))) {
    if (IsUid(name) && domains.size() <= kFoldersMax) domains.push_back(std::move(name));
  }
  return domains;
}

bool FileDisk::HasFolder(const std::string& domain) const {
  const std::string path = PathOf(domain) + "/" + std::string(imex::kTemplateFile);
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(path, ignored));
}

Result<void> FileDisk::MakeFolder(const std::string& domain) {
  const std::string text =
      TRY(base::ReadFile(paths_.config_template, kTemplateMax).map_error([](base::Error error) {
        error.message += "; it comes with the plugin, --config-template says where it is";
        return error;
      }));
  const std::string path = PathOf(domain);
  TRY(MakeFolders(path));
  return cdi::ReplaceFile(path, std::string(imex::kTemplateFile), text, cdi::FileAccess::kAllRead);
}

Result<void> FileDisk::RemoveFolder(const std::string& domain) {
  const std::string path = PathOf(domain);
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return base::FailedTo("remove", path, error.value());
  return {};
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

}  // namespace plugin

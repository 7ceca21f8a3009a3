#include "node/plugin/host/checkpoint_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "node/cdi/files.h"
#include "pkg/base/file.h"

namespace plugin {

namespace {

constexpr const char* kFile = "checkpoint.json";
constexpr const char* kLockFile = "pu.lock";
constexpr mode_t kMode = 0600;

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

base::Result<void> CheckpointFile::Lock() {
  const std::string path = folder_ + "/" + kLockFile;
  lock_.emplace(path, O_RDWR | O_CREAT | O_NOFOLLOW, kMode);
  if (!lock_->is_open()) return base::FailedTo("open", path, errno);
  if (::flock(lock_->fd(), LOCK_EX | LOCK_NB) != 0) {
    Unlock();
    return base::Unavailable(path + " is held by another plugin of this node");
  }
  auto read = ReadIfChanged();
  if (!read) Unlock();
  return read;
}

base::Result<void> CheckpointFile::ReadIfChanged() {
  const std::string path = folder_ + "/" + kFile;
  const struct ::stat now = StatOf(path);
  if (has_read_ && IsSameFile(now, read_)) return {};
  auto text = base::ReadFile(path, kCheckpointBytesMax);
  const bool is_absent = !text && text.error().code == base::ErrorCode::kNotFound;
  const bool is_large = !text && text.error().code == base::ErrorCode::kTooLarge;
  if (!text && !is_absent && !is_large) return tl::unexpected(text.error());
  const std::string why = is_large ? text.error().message : "";
  const auto content = text ? std::optional(*std::move(text)) : std::nullopt;
  resumed_ = Resume(content, boot_id_);
  if (is_large) {
    resumed_.from = Resumed::From::kUnreadable;
    resumed_.why = why;
  }
  // For people. A full disk must not end the plugin, so it goes on without the copy.
  if (!resumed_.damaged.empty()) {
    static_cast<void>(cdi::ReplaceFile(folder_, std::string(kCopyOfDamaged), *content));
  }
  read_ = now;
  has_read_ = true;
  return {};
}

base::Result<void> CheckpointFile::Save(Checkpoint next) {
  const std::string text = Encode(next);
  TRY(CheckReadable(text, next));
  TRY(cdi::ReplaceFile(folder_, kFile, text));
  resumed_ = {.from = Resumed::From::kThisBoot, .checkpoint = std::move(next)};
  read_ = StatOf(folder_ + "/" + kFile);
  return {};
}

}  // namespace plugin

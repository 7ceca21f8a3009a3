#include "node/daemon/scratch.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "pkg/base/open_file.h"

namespace imex_daemon {

namespace {

namespace fs = std::filesystem;

base::Result<bool> IsMountPoint(const std::string& path) {
  struct statx found = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &found) != 0) {
    return base::FailedTo("empty", path, errno);
  }
  if ((found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {
    return base::Invalid(path + ": this kernel does not say whether it is mounted");
  }
  return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Returns whether the folder is empty now.
base::Result<bool> Empty(const std::string& folder) {
  std::error_code error;
  bool is_empty = true;
  std::vector<fs::directory_entry> entries;  // All of them first: the next loop removes them.
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    entries.push_back(*it);
  }
  if (error) return base::FailedTo("empty", folder, error.value());
  for (const fs::directory_entry& entry : entries) {
    const std::string path = entry.path().string();
    bool stays = TRY(IsMountPoint(path));
    if (!stays && fs::is_directory(entry.symlink_status(error))) stays = !TRY(Empty(path));
    if (!stays) fs::remove(entry.path(), error);
    if (error) return base::FailedTo("empty", path, error.value());
    is_empty = is_empty && !stays;
  }
  return is_empty;
}

}  // namespace

base::Result<void> EmptyScratch(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    if (fs::exists(folder, error)) TRY(Empty(folder));
  }
  return {};
}

}  // namespace imex_daemon

#include "node/kubelet/socket_file.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace kubelet {

namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

// With the zero behind it.
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr mode_t kFolderMode = 0750;

std::string Cause(int error) { return std::generic_category().message(error); }

Result<void> MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
  if (error || (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)) {
    return Fail(ErrorCode::kInvalid,
                "make folder " + folder + ": " + (error ? error.message() : Cause(errno)));
  }
  return {};
}

}  // namespace

SocketFile::SocketFile(std::string path, std::string bind_path)
    : path_(std::move(path)), bind_path_(std::move(bind_path)) {}

Result<SocketFile> SocketFile::At(const std::string& folder, const std::string& name) {
  SocketFile file(folder + "/" + name,
                  // The kubelet passes over names that begin with a dot.
                  folder + "/." + name);
  if (file.bind_path_.size() > kPathMax) {
    return Fail(ErrorCode::kInvalid, "socket " + file.path_ + " has a path of more than " +
                                         std::to_string(kPathMax - 1) +
                                         " characters: choose a shorter folder");
  }
  TRY(MakeFolder(folder));
  return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::move(other.path_)),
      bind_path_(std::move(other.bind_path_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

SocketFile::~SocketFile() {
  if (IsOurs()) ::unlink(path_.c_str());
}

Result<void> SocketFile::Publish() {
  struct stat info = {};
  if (::lstat(bind_path_.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return Fail(ErrorCode::kInvalid, "socket " + bind_path_ + " was not made");
  }
  if (std::rename(bind_path_.c_str(), path_.c_str()) != 0) {
    return Fail(ErrorCode::kInvalid, "put a socket at " + path_ + ": " + Cause(errno));
  }
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return {};
}

bool SocketFile::IsOurs() const {
  struct stat info = {};
  return inode_ != 0 && ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
         info.st_ino == inode_;
}

}  // namespace kubelet

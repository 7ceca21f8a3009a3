#include "node/kubelet/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>

#include "pkg/base/open_file.h"

namespace kubelet {

namespace {

// Leaves room for the terminating zero.
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr mode_t kFolderMode = 0750;
// Of a short name.
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
constexpr std::size_t kShortDigits = 5;
constexpr std::size_t kInitialsMax = 2;

base::Result<void> MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
  if (error || (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)) {
    return base::FailedTo("make folder", folder, error ? error.value() : errno);
  }
  return {};
}

// The kubelet ignores names that begin with a dot.
std::string HiddenPath(const std::string& folder, const std::string& name) {
  return folder + "/." + name;
}

// Returns "cd-" of "compute-domain.nvidia.com", and "g-" of "gpu.nvidia.com".
std::string ShortPrefix(std::string_view driver) {
  std::string prefix;
  bool is_initial = true;
  for (const char c : driver.substr(0, driver.find('.'))) {
    if (is_initial && prefix.size() < kInitialsMax) prefix += c;
    is_initial = c == '-';
  }
  return prefix + "-";
}

}  // namespace

std::vector<std::string> SocketsIn(const std::string& folder, std::string_view prefix,
                                   std::string_view suffix) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(prefix) && name.ends_with(suffix) && file->is_socket(ignored)) {
      paths.push_back(file->path().string());
    }
  }
  return paths;
}

bool IsServed(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() > kPathMax) return false;
  path.copy(&address.sun_path[0], kPathMax);
  const base::OpenFile socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return true;  // Unknown.
  const int status =
      ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return status == 0 || (errno != ECONNREFUSED && errno != ENOENT);
}

void RemoveDead(const std::vector<std::string>& sockets) {
  for (const std::string& path : sockets) {
    if (!IsServed(path)) ::unlink(path.c_str());
  }
}

std::string ShortName(std::string_view driver, const std::string& pod_uid) {
  std::size_t hash = std::hash<std::string>()(pod_uid);
  std::string name = ShortPrefix(driver);
  for (std::size_t i = 0; i < kShortDigits; ++i, hash /= kDigits.size()) {
    name += kDigits[hash % kDigits.size()];
  }
  return name;
}

bool IsShortName(std::string_view driver, std::string_view name) {
  const std::string prefix = ShortPrefix(driver);
  return name.starts_with(prefix) && name.size() == prefix.size() + kShortDigits &&
         name.find_first_not_of(kDigits, prefix.size()) == std::string_view::npos;
}

bool IsYounger(const std::string& path, const std::string& other) {
  struct stat one = {};
  struct stat two = {};
  if (::lstat(path.c_str(), &one) != 0 || ::lstat(other.c_str(), &two) != 0) return false;
  const auto age = [](const struct stat& file, const std::string& name) {
    return std::tuple(file.st_mtim.tv_sec, file.st_mtim.tv_nsec, name);
  };
  return age(one, path) > age(two, other);
}

SocketFile::SocketFile(std::string path, std::string bind_path)
    : path_(std::move(path)), bind_path_(std::move(bind_path)) {}

bool SocketFile::Fits(const std::string& folder, const std::string& name) {
  return HiddenPath(folder, name).size() <= kPathMax;
}

base::Result<SocketFile> SocketFile::At(const std::string& folder, const std::string& name) {
  if (!Fits(folder, name)) {
    const std::size_t rest = HiddenPath("", name).size();
    return base::Invalid("folder " + folder + " has a path of more than " +
                         std::to_string(kPathMax - rest) +
                         " characters, and Linux allows no socket there: choose a shorter "
                         "--root-dir of the kubelet");
  }
  TRY(MakeFolder(folder));
  return SocketFile(folder + "/" + name, HiddenPath(folder, name));
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::move(other.path_)),
      bind_path_(std::move(other.bind_path_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

SocketFile::~SocketFile() {
  if (IsOurs()) ::unlink(path_.c_str());
}

base::Result<void> SocketFile::Publish() {
  struct stat info = {};
  if (::lstat(bind_path_.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return base::Invalid("socket " + bind_path_ + " was not made");
  }
  if (std::rename(bind_path_.c_str(), path_.c_str()) != 0) {
    return base::FailedTo("put a socket at", path_, errno);
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

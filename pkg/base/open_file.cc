#include "pkg/base/open_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace base {

OpenFile::OpenFile(const std::string& path, int flags, mode_t mode)
    : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}

int OpenFile::Write(std::string_view content) const {
  while (!content.empty()) {
    const ssize_t count = ::write(fd_, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

int OpenFile::Close() {
  const int fd = std::exchange(fd_, -1);
  return fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

tl::unexpected<Error> FailedTo(const std::string& verb, const std::string& path, int error) {
  return Invalid(verb + " " + path + ": " + std::generic_category().message(error));
}

}  // namespace base

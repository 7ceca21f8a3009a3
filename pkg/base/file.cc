#include "pkg/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "pkg/base/open_file.h"

namespace base {

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  const OpenFile file(path, O_RDONLY);
  if (!file.is_open()) {
    const int error = errno;
    auto failed = FailedTo("open", path, error);
    if (error == ENOENT || error == ENOTDIR) failed.value().code = ErrorCode::kNotFound;
    return failed;
  }
  std::string content;
  std::array<char, 16384> bytes = {};
  while (true) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FailedTo("read", path, errno);
    if (count == 0) return content;
    content.append(bytes.data(), static_cast<std::size_t>(count));
    if (content.size() > bytes_max) {
      return Fail(ErrorCode::kTooLarge,
                  "read " + path + ": larger than " + std::to_string(bytes_max) + " bytes");
    }
  }
}

}  // namespace base

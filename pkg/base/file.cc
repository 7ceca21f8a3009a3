#include "pkg/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "pkg/base/open_file.h"

namespace base {
namespace {

tl::unexpected<Error> FailedTo(const char* verb, const std::string& path, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  return Fail(absent ? ErrorCode::kNotFound : ErrorCode::kInvalid,
              std::string(verb) + " " + path + ": " + std::generic_category().message(error));
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  const OpenFile file(path, O_RDONLY);
  if (!file.is_open()) return FailedTo("open", path, errno);
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

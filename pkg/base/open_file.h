// Owns file descriptors, and reports errors of file calls.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/result.h"

namespace base {

// Owns an open file, pipe or socket, and closes it. Errors are errno values; 0 means success.
class OpenFile {
 public:
  // `flags` and `mode` are those of open(2). Child processes do not inherit the file.
  OpenFile(const std::string& path, int flags, mode_t mode = 0);
  // Takes over `fd`. Not open if `fd` is below 0.
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() { Close(); }
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  // Returns whether the file is open. If opening failed, errno has the cause.
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // Writes all of `content` at the current position.
  int Write(std::string_view content) const;
  // May return an error, because full or broken disks may report it only now.
  int Close();

 private:
  int fd_;
};

// Returns kInvalid with a message such as "open /path: Permission denied". `error` is an errno
// value.
tl::unexpected<Error> FailedTo(const std::string& verb, const std::string& path, int error);

}  // namespace base

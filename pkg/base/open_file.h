#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/result.h"

namespace base {

// A file, pipe or socket that is open until this goes. What is wrong is one of errno's numbers; 0:
// nothing.
class OpenFile {
 public:
  // `flags` and `mode` are open(2)'s. It is not passed on to programs that are started.
  OpenFile(const std::string& path, int flags, mode_t mode = 0);
  // Takes over `fd`; below 0: it is not open.
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() { Close(); }
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }  // If not, errno says why.
  [[nodiscard]] int fd() const { return fd_; }
  // All of it, behind what was written before.
  [[nodiscard]] int Write(std::string_view content) const;
  // Full disks and broken ones may say so only now.
  int Close();

 private:
  int fd_;
};

// kInvalid, as in "open /path: Permission denied". `error` is one of errno's numbers.
[[nodiscard]] tl::unexpected<Error> FailedTo(const std::string& verb, const std::string& path,
                                             int error);

}  // namespace base

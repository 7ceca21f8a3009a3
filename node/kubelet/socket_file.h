// The name under which a unix socket is found, of which another process may take hold at any time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace kubelet {

// Returns the paths of the sockets in a folder whose names begin and end so. Empty if the folder
// cannot be read.
[[nodiscard]] std::vector<std::string> SocketsIn(const std::string& folder, std::string_view prefix,
                                                 std::string_view suffix);
// Returns whether a process listens on the socket.
[[nodiscard]] bool IsServed(const std::string& path);
// Returns whether `path` was bound after `other`. False if one of them does not exist.
[[nodiscard]] bool IsYounger(const std::string& path, const std::string& other);

// Used by one thread. A socket is bound under a name that nobody looks for, and then put in the
// place of whatever was there, in one go: who connects meets the one before or this one.
class SocketFile {
 public:
  // kInvalid: the path is too long for a socket, or its folder cannot be made; with what to do.
  [[nodiscard]] static base::Result<SocketFile> At(const std::string& folder,
                                                   const std::string& name);
  SocketFile(SocketFile&& other) noexcept;
  // Takes the name away, unless it stands for another socket by now.
  ~SocketFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Where to bind; something that a process left there may be in the way, and is to go.
  [[nodiscard]] const std::string& bind_path() const { return bind_path_; }
  // After it was bound and listens.
  [[nodiscard]] base::Result<void> Publish();
  // Whether the path still stands for what was published.
  [[nodiscard]] bool IsOurs() const;

 private:
  SocketFile(std::string path, std::string bind_path);

  std::string path_;
  std::string bind_path_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;  // 0: not published.
};

}  // namespace kubelet

// The path of a unix socket, which another process may take over.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace kubelet {

// Returns the paths of sockets in a folder whose names have this prefix and suffix. Empty if the
// folder cannot be read.
std::vector<std::string> SocketsIn(const std::string& folder, std::string_view prefix,
                                   std::string_view suffix);
// Returns whether a process listens on the socket.
bool IsServed(const std::string& path);
// Removes sockets on which nobody listens: instances that were killed leave theirs, and a kubelet
// that starts connects to each of them.
void RemoveDead(const std::vector<std::string>& sockets);
// Returns a short name of a driver's socket: the initials of the driver, and five digits. Two pods
// of a rolling update have different ones, and so have two drivers in one pod.
std::string ShortName(std::string_view driver, const std::string& pod_uid);
bool IsShortName(std::string_view driver, std::string_view name);
// Returns whether `path` was bound after `other`. False if one of them does not exist.
bool IsYounger(const std::string& path, const std::string& other);

// Used by one thread. The socket is bound under a hidden name, and then moved to its path
// atomically: a client connects either to the earlier socket or to this one.
class SocketFile {
 public:
  // Returns whether a socket of that name can be in the folder: the path of a socket is bounded.
  static bool Fits(const std::string& folder, const std::string& name);
  // Returns kInvalid if it does not fit or the folder cannot be created; the message says what to
  // do.
  static base::Result<SocketFile> At(const std::string& folder, const std::string& name);
  SocketFile(SocketFile&& other) noexcept;
  // Removes the path, unless another socket has it by now.
  ~SocketFile();

  const std::string& path() const { return path_; }
  // Where to bind. The caller must first remove a file that an earlier process left there.
  const std::string& bind_path() const { return bind_path_; }
  // Moves the socket to path(). REQUIRES: it is bound and listens.
  base::Result<void> Publish();
  // Returns whether path() still is the socket that was published.
  bool IsOurs() const;

 private:
  SocketFile(std::string path, std::string bind_path);

  std::string path_;
  std::string bind_path_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;  // 0 until it is published.
};

}  // namespace kubelet

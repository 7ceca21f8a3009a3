#pragma once

#include <string>

#include "pkg/base/result.h"

namespace http {

// A listening TCP socket, closed at the end. Non-blocking; not inherited by child processes. What
// it accepts has small buffers.
class Listener {
 public:
  // "127.0.0.1:8080", "[::1]:8080", "localhost:8080", or ":8080" for every address, IPv6 and IPv4.
  // Port 0 picks one that is free. kInvalid: not such an address; kUnavailable: it cannot be
  // listened on, for example because somebody else does.
  [[nodiscard]] static base::Result<Listener> On(const std::string& address);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int port() const { return port_; }

 private:
  Listener(int fd, int port) : fd_(fd), port_(port) {}

  int fd_ = -1;
  int port_ = 0;
};

}  // namespace http

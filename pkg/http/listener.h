#pragma once

#include <string>

#include "pkg/base/open_file.h"
#include "pkg/base/result.h"

namespace http {

// kInvalid, with how to write it, for what Listener::On() could not read as an address. Looks up no
// name.
[[nodiscard]] base::Result<void> CheckAddress(const std::string& address);

// A listening TCP socket, closed at the end. Non-blocking; not inherited by child processes. What
// it accepts has small buffers.
class Listener {
 public:
  // "127.0.0.1:8080", "[::1]:8080", "localhost:8080", or ":8080" for every address, IPv6 and IPv4.
  // Port 0 picks one that is free. kInvalid: not such an address; kUnavailable: it cannot be
  // listened on, for example because somebody else does.
  [[nodiscard]] static base::Result<Listener> On(const std::string& address);

  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] int port() const { return port_; }

 private:
  explicit Listener(base::OpenFile socket);

  base::OpenFile socket_;
  int port_;
};

}  // namespace http

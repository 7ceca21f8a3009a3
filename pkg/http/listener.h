// Listening TCP sockets.
#pragma once

#include <string>

#include "pkg/base/open_file.h"
#include "pkg/base/result.h"

namespace http {

// Returns kInvalid, with an example, if Listener::On() cannot parse `address`. Resolves no name.
base::Result<void> CheckAddress(const std::string& address);

// A listening TCP socket, closed by the destructor. Non-blocking; child processes do not inherit
// it. Accepted connections have small buffers.
class Listener {
 public:
  // Listens on "127.0.0.1:8080", "[::1]:8080", "localhost:8080", or ":8080" for every address, IPv6
  // and IPv4. Port 0 means a free port. kInvalid: the address is invalid. kUnavailable: cannot
  // listen, for example because the port is in use.
  static base::Result<Listener> On(const std::string& address);

  int fd() const { return socket_.fd(); }
  int port() const { return port_; }

 private:
  explicit Listener(base::OpenFile socket);

  base::OpenFile socket_;
  int port_;
};

}  // namespace http

// A raw socket server for tests, on a free loopback port.
//
// The test controls every byte of its answers, and how it fails.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pkg/base/mutex.h"

namespace http::testing {

class RawServer {
 public:
  // One connection, used by the thread that serves it.
  class Connection {
   public:
    // Returns the next whole request, head and body. Empty if the client has closed.
    std::string ReadRequest();
    void Write(std::string_view bytes);
    // Blocks until the client closes.
    void WaitForClose();
    // Closes with RST instead of FIN.
    void Reset();
    // For tests that use the socket directly, for example with TLS.
    int fd() const { return fd_; }

    const int number;  // Of the connection, from 0.

   private:
    friend class RawServer;
    Connection(RawServer& server, int fd, int its_number)
        : number(its_number), server_(server), fd_(fd) {}
    bool ReadMore();

    RawServer& server_;
    const int fd_;
    std::string unread_;
  };
  using Serve = std::function<void(Connection& connection)>;

  // `serve` runs on its own thread for each connection, which closes when it returns.
  explicit RawServer(Serve serve);
  // Ends all connections, even blocked ones.
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // All requests that were read, in the order in which they became complete.
  std::vector<std::string> requests() const;
  int connections() const;

 private:
  struct State {
    std::vector<std::string> requests = {};
    std::list<std::thread> threads = {};
    std::list<int> fds = {};
    int connections = 0;
    bool stopped = false;
  };
  void Accept();

  const Serve serve_;
  int listener_ = -1;
  int port_ = 0;
  base::Guarded<State> state_;
  std::thread acceptor_;
};

// Returns a whole reply. `headers` is empty, or lines that each end in "\r\n".
std::string Reply(int status, std::string_view body, std::string_view headers = "");

}  // namespace http::testing

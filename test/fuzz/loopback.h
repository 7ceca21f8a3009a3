// Sockets of this machine, for targets that speak with libraries over the network.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "pkg/base/mutex.h"

namespace fuzz {

// Answers each request on a connection with the bytes of the moment, then ends the connection.
class HostileServer {
 public:
  HostileServer();
  ~HostileServer();
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  // From the next connection on.
  void SetAnswer(std::string answer, bool with_reset);
  // Requests that came since then.
  [[nodiscard]] int requests() const {
    return script_.With([](const Script& script) { return script.requests; });
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  struct Script {
    std::string answer = {};
    bool with_reset = false;
    int requests = 0;
    int number = 0;  // Of the answers that were set: what a client has left behind counts no more.
  };
  void Serve();
  void Answer(int fd);

  int listener_ = -1;
  int port_ = 0;
  base::Guarded<Script> script_;
  std::thread thread_;
};

// Sends `bytes` to that port of this machine, says that there are no more, and returns what comes
// back until the other side ends it, or says nothing for `patience`.
[[nodiscard]] std::string Exchange(int port, std::string_view bytes,
                                   std::chrono::milliseconds patience);

}  // namespace fuzz

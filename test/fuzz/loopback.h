// Local sockets, for targets that use network libraries.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "pkg/base/mutex.h"

namespace fuzz {

// Answers each request on a connection with the current bytes, then closes the connection.
class HostileServer {
 public:
  HostileServer();
  ~HostileServer();
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  // Takes effect from the next connection on.
  void SetAnswer(std::string answer, bool with_reset);
  // Returns the number of requests since then.
  int requests() const {
    return script_.With([](const Script& script) { return script.requests; });
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  struct Script {
    std::string answer = {};
    bool with_reset = false;
    int requests = 0;
    int number = 0;  // Number of the answer. Requests for earlier answers do not count.
  };
  void Serve();
  void Answer(int fd);

  int listener_ = -1;
  int port_ = 0;
  base::Guarded<Script> script_;
  std::thread thread_;
};

// Sends `bytes` to that local port and closes its sending side. Returns the reply until the peer
// closes, or is silent for `patience`.
std::string Exchange(int port, std::string_view bytes, std::chrono::milliseconds patience);

}  // namespace fuzz

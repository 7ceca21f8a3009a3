// A TCP proxy that ends every connection at a certain age.
//
// It stands for a load balancer before the API server, and ends even active connections. It
// forwards bytes unchanged, so TLS stays between client and server.
#pragma once

#include <chrono>
#include <list>
#include <string>
#include <thread>

#include "pkg/base/clock.h"

namespace bench {

class CuttingProxy {
 public:
  // Listens on a free port of 127.0.0.1, and forwards to `port` there. `clock` must outlive it.
  CuttingProxy(int port, std::chrono::seconds age, const base::Clock& clock);
  ~CuttingProxy();  // Ends all connections.
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  int port() const { return port_; }

 private:
  class Socket {
   public:
    explicit Socket(int fd) : fd_(fd) {}
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    int fd() const { return fd_; }

   private:
    const int fd_;
  };
  struct Connection {
    explicit Connection(int accepted) : client(accepted) {}
    Socket client;
    Socket server = Socket(NewSocket());
    base::Clock::TimePoint ends = {};
  };

  static int NewSocket();
  void Run(const std::stop_token& stop);
  void Accept();
  // Returns false if one side has closed.
  static bool Pass(const Socket& from, const Socket& to);

  const int to_port_;
  const std::chrono::seconds age_;
  const base::Clock& clock_;
  const Socket listener_;
  int port_ = 0;
  std::list<Connection> connections_;  // Only the thread uses it.
  std::jthread thread_;
};

}  // namespace bench

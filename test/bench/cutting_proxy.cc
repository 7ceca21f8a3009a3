#include "test/bench/cutting_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "pkg/base/check.h"

namespace bench {

namespace {

// How late a connection is cut, and how long the destructor waits, at most.
constexpr int kTurnMilliseconds = 20;
constexpr int kBacklog = 64;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

CuttingProxy::Socket::~Socket() { ::close(fd_); }

int CuttingProxy::NewSocket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  return fd;
}

CuttingProxy::CuttingProxy(int port, std::chrono::seconds age, const base::Clock& clock)
    : to_port_(port), age_(age), clock_(clock), listener_(NewSocket()) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  CHECK(::bind(listener_.fd(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_.fd(), kBacklog) == 0);
  CHECK(::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

CuttingProxy::~CuttingProxy() = default;

void CuttingProxy::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> fds = {{.fd = listener_.fd(), .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections_) {
      fds.push_back({.fd = connection.client.fd(), .events = POLLIN, .revents = 0});
      fds.push_back({.fd = connection.server.fd(), .events = POLLIN, .revents = 0});
    }
    if (::poll(fds.data(), fds.size(), kTurnMilliseconds) < 0) continue;
    std::size_t i = 1;
    for (auto it = connections_.begin(); it != connections_.end(); i += 2) {
      bool stays = clock_.Now() < it->ends;
      if (stays && fds[i].revents != 0) stays = Pass(it->client, it->server);
      if (stays && fds[i + 1].revents != 0) stays = Pass(it->server, it->client);
      it = stays ? std::next(it) : connections_.erase(it);
    }
    if (fds[0].revents != 0) Accept();
  }
}

void CuttingProxy::Accept() {
  const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  Connection& connection = connections_.emplace_back(fd);
  connection.ends = clock_.Now() + age_;
  const sockaddr_in address = Loopback(to_port_);
  const int connected = ::connect(connection.server.fd(),
                                  reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (connected != 0) connections_.pop_back();
}

bool CuttingProxy::Pass(const Socket& from, const Socket& to) {
  std::array<char, 1U << 16U> bytes{};
  const ssize_t read = ::recv(from.fd(), bytes.data(), bytes.size(), 0);
  for (ssize_t sent = 0; sent < read;) {
    const ssize_t more =
        ::send(to.fd(), bytes.data() + sent, static_cast<std::size_t>(read - sent), MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += more;
  }
  return read > 0;
}

}  // namespace bench

#include "test/cluster/stubs/imex/net.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>

namespace standin {

namespace {

constexpr std::size_t kTextMax = 8U << 20;

sockaddr_in Address(const std::string& ip, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, ip.c_str(), &address.sin_addr) != 1) address.sin_family = AF_UNSPEC;
  return address;
}

const sockaddr* Generic(const sockaddr_in& address) {
  return std::bit_cast<const sockaddr*>(&address);
}

void Set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

int Bound(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  Set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  // A peer that cannot be reached any more says nothing: after some 4 s it counts as gone, and so
  // does an attempt to reach it.
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  Set(fd, IPPROTO_TCP, TCP_SYNCNT, 1);
  if (fd >= 0 && ::bind(fd, Generic(address), sizeof(address)) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace

int Listen(const std::string& ip, int port) {
  const int fd = Bound(Address(ip, port));
  if (fd < 0 || ::listen(fd, 128) == 0) return fd;
  ::close(fd);
  return -1;
}

int Connect(const std::string& from, const std::string& ip, int port) {
  const int fd = Bound(Address(from, 0));
  if (fd < 0) return -1;
  const sockaddr_in to = Address(ip, port);
  if (::connect(fd, Generic(to), sizeof(to)) == 0 || errno == EINPROGRESS) return fd;
  ::close(fd);
  return -1;
}

bool IsConnected(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool Receive(int fd, std::string& text) {
  std::array<char, 4096> bytes = {};
  while (text.size() < kTextMax) {
    const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (count > 0) {
      text.append(bytes.data(), static_cast<std::size_t>(count));
      continue;
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
  }
  return false;
}

bool Send(int fd, const std::string& text) {
  return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::string Ask(const std::string& from, const std::string& ip, int port,
                const std::string& question, int ms) {
  const int fd = Connect(from, ip, port);
  if (fd < 0) return {};
  std::string answer;
  bool sent = false;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd poll = {.fd = fd, .events = static_cast<short>(sent ? POLLIN : POLLOUT), .revents = 0};
    if (::poll(&poll, 1, 20) <= 0) continue;
    if (!sent) {
      if (!IsConnected(fd) || !Send(fd, question)) break;
      sent = true;
      deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    } else if (!Receive(fd, answer)) {
      break;
    }
  }
  ::close(fd);
  return answer;
}

}  // namespace standin

#include "pkg/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "pkg/base/number.h"

namespace http {
namespace {

constexpr int kBacklog = 256;  // A client that finds it full retries after a second.
constexpr int kPortMax = 65'535;
// Per connection and direction, in the kernel. Bounds the cost of clients that do not read.
constexpr int kSocketBytes = 64 << 10;

struct HostAndPort {
  std::string host;  // Empty for every address.
  std::string port;
};

base::Result<HostAndPort> Split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string_view digits = std::string_view(address).substr(colon + 1);
  const int port = colon == std::string::npos ? -1 : base::ParseNumber<int>(digits).value_or(-1);
  if (port < 0 || port > kPortMax) {
    return base::Invalid("write host:port or :port, with a port of at most 65535");
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return HostAndPort{.host = std::move(host), .port = std::to_string(port)};
}

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

base::Result<Addresses> Resolve(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) return base::Unavailable(::gai_strerror(code));
  return Addresses(found);
}

// Returns whether `fd` listens there now. If not, errno has the cause.
bool Listens(int fd, const addrinfo& address) {
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // Fails for IPv4, without harm.
  return ::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0;
}

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

base::Result<void> CheckAddress(const std::string& address) {
  TRY(Split(address));
  return {};
}

base::Result<Listener> Listener::On(const std::string& address) {
  const HostAndPort wanted =
      TRY(Split(address).map_error(base::While("listen on \"" + address + "\"")));
  const std::string attempt = "listen on " + address;
  // "::" accepts IPv4, too. Without IPv6, uses "0.0.0.0" below.
  const std::string host = wanted.host.empty() ? "::" : wanted.host;
  const Addresses addresses = TRY(Resolve(host, wanted.port).map_error(base::While(attempt)));
  int error = 0;
  for (const addrinfo* candidate = addresses.get(); candidate != nullptr;
       candidate = candidate->ai_next) {
    constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    base::OpenFile socket(::socket(candidate->ai_family, kType, 0));
    if (socket.is_open() && Listens(socket.fd(), *candidate)) return Listener(std::move(socket));
    error = errno;
  }
  const bool has_no_ipv6 = error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
  if (wanted.host.empty() && has_no_ipv6) return On("0.0.0.0:" + wanted.port);
  return base::Unavailable(attempt + ": " + std::generic_category().message(error));
}

Listener::Listener(base::OpenFile socket)
    : socket_(std::move(socket)), port_(PortOf(socket_.fd())) {}

}  // namespace http

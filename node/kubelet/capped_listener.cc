#include "node/kubelet/capped_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace kubelet {

namespace {

using base::OpenFile;
using base::Result;

constexpr int kBacklog = 128;
// What was dropped is closed by its owner a moment later, so no more are accepted at once than
// there may be, and then none for a moment.
constexpr std::chrono::milliseconds kPause{50};

tl::unexpected<base::Error> Failure(const std::string& what) {
  return base::Fail(base::ErrorCode::kUnavailable,
                    what + ": " + std::generic_category().message(errno));
}

template <typename Address>
bool Bind(const OpenFile& socket, const Address& address) {
  return ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Of both families, or of IPv4 on a host without the other.
Result<OpenFile> Bound(int port) {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<in_port_t>(port));
  sockaddr_in any_v4 = {};
  any_v4.sin_family = AF_INET;
  any_v4.sin_port = any.sin6_port;
  OpenFile both(::socket(AF_INET6, kType, 0));
  OpenFile socket = both.is_open() ? std::move(both) : OpenFile(::socket(AF_INET, kType, 0));
  if (!socket.is_open()) return Failure("open a socket");
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool is_bound = Bind(socket, any) || (errno != EADDRINUSE && Bind(socket, any_v4));
  if (!is_bound) return Failure("bind");
  return socket;
}

}  // namespace

Result<std::unique_ptr<CappedListener>> CappedListener::Listen(int port) {
  OpenFile socket = TRY(Bound(port));
  if (::listen(socket.fd(), kBacklog) != 0) return Failure("listen");
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return Failure("ask for the port");
  }
  // It lies at the same place in both families.
  const int number = ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  OpenFile stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.is_open()) return Failure("open an event");
  return std::unique_ptr<CappedListener>(
      new CappedListener(std::move(socket), std::move(stop), number));
}

CappedListener::CappedListener(OpenFile listener, OpenFile stop, int port)
    : listener_(std::move(listener)), stop_(std::move(stop)), port_(port) {}

CappedListener::~CappedListener() {
  ::eventfd_write(stop_.fd(), 1);
  if (thread_.joinable()) thread_.join();
}

void CappedListener::Serve(std::function<void(int fd)> hand_over) {
  hand_over_ = std::move(hand_over);
  thread_ = std::thread([this] { Run(); });
}

void CappedListener::Run() {
  for (;;) {
    std::vector<pollfd> waits = {{.fd = stop_.fd(), .events = POLLIN, .revents = 0},
                                 {.fd = listener_.fd(), .events = POLLIN, .revents = 0}};
    for (const OpenFile& one : connections_) {
      waits.push_back({.fd = one.fd(), .events = POLLRDHUP, .revents = 0});
    }
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // Interrupted.
    if (waits[0].revents != 0) return;
    auto end = waits.begin() + 2;
    std::erase_if(connections_, [&](const OpenFile& /*one*/) { return end++->revents != 0; });
    if (waits[1].revents == 0) continue;
    AcceptSome();
    if (::poll(waits.data(), 1, static_cast<int>(kPause.count())) > 0) return;
  }
}

void CappedListener::AcceptSome() {
  for (std::size_t i = 0; i < kConnectionsMax; ++i) {
    const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool is_full = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd < 0 && !is_full) return;
    if (is_full || connections_.size() == kConnectionsMax) DropOldest();
    if (is_full) return;
    OpenFile own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (own.is_open()) {
      connections_.push_back(std::move(own));
      hand_over_(fd);
    } else {
      ::close(fd);
    }
  }
}

void CappedListener::DropOldest() {
  if (connections_.empty()) return;
  ::shutdown(connections_.front().fd(), SHUT_RDWR);
  connections_.pop_front();
}

}  // namespace kubelet

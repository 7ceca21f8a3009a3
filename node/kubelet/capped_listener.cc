#include "node/kubelet/capped_listener.h"

#include <fcntl.h>
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

// The owner of a dropped connection closes it a moment later. So at most the permitted number is
// accepted at once, and none during this pause.
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

base::Result<std::unique_ptr<CappedListener>> CappedListener::Listen(int port) {
  http::Listener listener = TRY(http::Listener::On(":" + std::to_string(port)));
  OpenFile stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.is_open()) {
    return base::Unavailable("open an event: " + std::generic_category().message(errno));
  }
  return std::unique_ptr<CappedListener>(new CappedListener(std::move(listener), std::move(stop)));
}

CappedListener::CappedListener(http::Listener listener, OpenFile stop)
    : listener_(std::move(listener)), stop_(std::move(stop)) {}

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
